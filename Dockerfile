# One image for all services, the CLI, the simulator and the example receiver: which one runs is the command.
#
#   docker build -t breakwater:local .
#   docker build --secret id=ca,src=/path/to/ca.pem ...     behind a proxy with a certificate authority of its own
#
# The authority is a build secret: it is there for npm only, and in no layer.

FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/cli/package.json packages/cli/
COPY packages/contracts/package.json packages/contracts/
COPY packages/core/package.json packages/core/
COPY packages/erp/package.json packages/erp/
COPY packages/http/package.json packages/http/
COPY packages/queue/package.json packages/queue/
COPY packages/runtime/package.json packages/runtime/
COPY packages/signatures/package.json packages/signatures/
COPY packages/store/package.json packages/store/
COPY services/console/package.json services/console/
COPY services/dispatcher/package.json services/dispatcher/
COPY services/erp-consumer/package.json services/erp-consumer/
COPY services/ingest/package.json services/ingest/
COPY infra/erp-simulator/package.json infra/erp-simulator/
COPY infra/local-stack/package.json infra/local-stack/
COPY examples/receiver/package.json examples/receiver/
# The compiler is not needed, but npm takes an optional peer of a library for a reason to install it.
# No install scripts: the one package that needs one brings Node, and the base image has that.
RUN --mount=type=secret,id=ca,target=/run/secrets/ca --mount=type=cache,target=/npm-cache \
    if [ -s /run/secrets/ca ]; then export NODE_EXTRA_CA_CERTS=/run/secrets/ca; fi \
    && npm ci --cache /npm-cache --omit=dev --ignore-scripts --no-audit --no-fund \
    && rm -rf node_modules/typescript node_modules/@typescript

FROM node:24-bookworm-slim
LABEL org.opencontainers.image.title="Breakwater" \
      org.opencontainers.image.description="A webhook gateway on Redis: each event exactly once" \
      org.opencontainers.image.licenses="MIT"
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    NODE_COMPILE_CACHE=/tmp/compile-cache
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json LICENSE ./
COPY packages packages
COPY services services
COPY infra/erp-simulator infra/erp-simulator
COPY infra/docker/*.mjs infra/docker/
COPY examples/receiver examples/receiver
# Volumes are born with the owner of what they cover.
RUN mkdir -m 0700 /secrets /data && chown node:node /secrets /data
# Nothing is written to the image's file system: it can be mounted read-only, with a small /tmp beside it.
USER node
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=3 CMD ["node", "infra/docker/health.mjs"]
# Exec form: SIGTERM reaches node itself, which finishes what it began.
ENTRYPOINT ["node"]
CMD ["packages/cli/src/main.ts", "--help"]
