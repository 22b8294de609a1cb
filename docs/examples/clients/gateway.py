"""GraphQL and a live tail with nothing but Python's standard library (3.9 or later)."""

import json
import time
import urllib.error
import urllib.request


class Gateway:
    def __init__(self, url: str, key: str, organization: "str | None" = None):
        self.url = url
        self.headers = {"Authorization": f"Bearer {key}"}
        if organization:
            self.headers["X-Organization-Id"] = organization

    def graphql(self, query: str, variables: "dict | None" = None) -> dict:
        """The data of an operation. Fields that the key may not read are None; other errors are raised."""
        body = json.dumps({"query": query, "variables": variables or {}}).encode()
        headers = {**self.headers, "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/graphql", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                answer = json.load(response)
        except urllib.error.HTTPError as error:
            answer = json.load(error)
        if answer.get("data") is None:
            raise RuntimeError("; ".join(error["message"] for error in answer["errors"]))
        return answer["data"]

    def sessions(self):
        """All sessions that the key can read, page by page."""
        after = None
        while True:
            data = self.graphql(
                """query Sessions($after: String) {
                  viewer { organization { sessions(first: 100, after: $after) {
                    nodes { databaseId title state { current } } pageInfo { hasNextPage endCursor }
                  } } }
                }""",
                {"after": after},
            )
            page = data["viewer"]["organization"]["sessions"]
            yield from page["nodes"]
            if not page["pageInfo"]["hasNextPage"]:
                return
            after = page["pageInfo"]["endCursor"]

    def events(self, session_id: str):
        """The events of a session, each once, until it is finished. A lost connection continues after the last event."""
        last, wait = "0", 1
        while True:
            headers = {**self.headers, "Accept": "text/event-stream", "Last-Event-ID": last}
            request = urllib.request.Request(f"{self.url}/v1/sessions/{session_id}/events", headers=headers)
            try:
                with urllib.request.urlopen(request, timeout=30) as response:
                    name, data = "message", ""
                    for line in (raw.decode().rstrip("\n") for raw in response):
                        if line.startswith("event: "):
                            name = line[7:]
                        elif line.startswith("id: "):
                            last = line[4:]
                        elif line.startswith("data: "):
                            data += line[6:]
                        elif line == "" and name == "end":
                            return
                        elif line == "" and name == "error":
                            raise RuntimeError(data)
                        elif line == "" and data:
                            yield json.loads(data)
                            name, data, wait = "message", "", 1
            except urllib.error.HTTPError as error:
                if error.code not in (429, 502, 503, 504):
                    raise RuntimeError(json.load(error)["error"]) from error
                wait = max(wait, int(error.headers.get("Retry-After", 0)))
            except OSError:
                pass
            time.sleep(wait)
            wait = min(2 * wait, 30)
