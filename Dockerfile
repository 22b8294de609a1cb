# The gateway with its jobs, and with another command a worker or the command line, for any architecture of the base image. It needs
# DATABASE_URL and ENCRYPTION_KEYS: the embedded PostgreSQL is left out, as are all tools of development. To renew the digest: docs/operations.md, "The image".

FROM node:24-bookworm-slim@sha256:a9f5f7c91a432850b2a8a7797adf5eadb6c733ceed61167806cee7ea7fbc29df AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# The optional packages are the embedded PostgreSQL's, and no other has a script to run.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM node:24-bookworm-slim@sha256:a9f5f7c91a432850b2a8a7797adf5eadb6c733ceed61167806cee7ea7fbc29df
LABEL org.opencontainers.image.title="workspace-gateway" \
  org.opencontainers.image.description="A GraphQL and REST gateway over a coding agent's workspace and custom event definitions" \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.base.name="docker.io/library/node:24-bookworm-slim" \
  org.opencontainers.image.version="1.1.0"
ENV NODE_ENV=production HOST=0.0.0.0 PORT=4000 NODE_COMPILE_CACHE=/tmp/compiled
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json LICENSE ./
COPY bin ./bin
COPY migrations ./migrations
COPY src ./src
RUN node src/gateway/pages/bundle.mjs
# The commit, which tells builds of one version apart: docker build --build-arg BUILD=$(git rev-parse HEAD)
ARG BUILD=unknown
ENV GATEWAY_BUILD=$BUILD
LABEL org.opencontainers.image.revision=$BUILD
USER node
EXPOSE 4000
# A worker answers at WORKER_PORT, where that is set. Both answer at HOST, which can be every address.
HEALTHCHECK --interval=10s --timeout=8s --start-period=30s --retries=3 \
  CMD ["node", "-e", "const { HOST, PORT, WORKER_PORT } = process.env; const host = HOST === '0.0.0.0' ? '127.0.0.1' : HOST === '::' ? '[::1]' : HOST.includes(':') ? `[${HOST}]` : HOST; fetch(`http://${host}:${WORKER_PORT ?? PORT}/health/ready`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Without npm in between, so that signals reach it.
CMD ["bin/gateway", "start"]
