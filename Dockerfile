# An image for listeners: docker build -t <image> . && docker push <image>
# It can also run a server (docs/operations.md#in-a-container); BASE must then have the programs that builds need.
# For reproducible builds pin BASE by digest: --build-arg BASE=node:22.21.1-bookworm-slim@sha256:…
ARG BASE=node:22.21.1-bookworm-slim
FROM $BASE
WORKDIR /app
COPY package.json package-lock.json .npmrc prisma.config.ts ./
COPY prisma prisma
RUN npm ci --omit=dev && rm -rf /root/.npm
COPY src src
RUN npm run build && mkdir /data && chown node /data
ENV DATA_DIR=/data
USER node
# Checks liveness, not readiness: a restart because the database is unavailable would end the agents.
HEALTHCHECK --start-period=60s CMD ["node", "-e", "const runs = require('node:fs').readFileSync('/proc/1/cmdline', 'utf8'), { PORT, LISTENER_PORT, BUILDER_PORT } = process.env; const port = /\\0listener\\0/.test(runs) ? LISTENER_PORT || 8081 : /\\0builder\\0/.test(runs) ? BUILDER_PORT || 8082 : PORT || 8080; fetch('http://127.0.0.1:' + port + '/healthz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "src/start/start.mjs", "cli", "listener"]
