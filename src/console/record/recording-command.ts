/** The lines that record an agent into this gateway. They sign the recorder in, in the browser. */
export const recordingCommand = (args: string): string => `export GATEWAY=${location.origin}
curl -fsSO $GATEWAY/record.mjs
node record.mjs login $GATEWAY
node record.mjs ${args}`;
