/** What has failed, said by screen readers at once. */
export function FaultText({ text }: { readonly text: string | undefined }) {
  if (!text) return null;
  return (
    <span class="fault" role="alert">
      {text}
    </span>
  );
}
