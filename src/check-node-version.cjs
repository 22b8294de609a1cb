// Preloaded in plain JavaScript, before any TypeScript: an older Node.js prints one line here instead of a stack trace.
const OLDEST = 24;

if (Number.parseInt(process.versions.node, 10) < OLDEST) {
  process.stderr.write(
    `Node.js ${OLDEST} or later is needed, and this is ${process.version}: install it, or run "npm ci" without --omit=dev, which brings one.\n`,
  );
  process.exit(1);
}
