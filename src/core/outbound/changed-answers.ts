type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** A `fetch` that changes the JSON documents of its answers. All others, and text that is not JSON, are returned as they are. */
export function changingJson(fetch: Fetch, change: (document: unknown) => unknown): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (!/\bjson\b/i.test(response.headers.get('content-type') ?? '')) return response;
    const text = await response.text();
    const headers = new Headers([...response.headers]);
    // The body is decoded, and can have another length.
    headers.delete('content-encoding');
    headers.delete('content-length');
    const { status, statusText } = response;
    return new Response(text === '' ? null : changedText(text, change), { status, statusText, headers });
  };
}

function changedText(text: string, change: (document: unknown) => unknown): string {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return text;
  }
  return JSON.stringify(change(document));
}
