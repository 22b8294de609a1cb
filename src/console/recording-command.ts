/** The lines that record an agent into this gateway, with the variables that the recorder needs. */
export function recordingCommand(args: string): string {
  return `export GATEWAY=${location.origin} KEY=wgk_…
curl -o record.mjs $GATEWAY/record.mjs
node record.mjs ${args}`;
}
