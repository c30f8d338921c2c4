# An image for listeners: docker build -t <image> . && docker push <image>
# It also runs a server (docs/operations.md#in-a-container), with the programs that builds need where BASE has them.
ARG BASE=node:22-slim
FROM $BASE
WORKDIR /app
COPY package.json package-lock.json .npmrc prisma.config.ts ./
COPY prisma prisma
RUN npm ci --omit=dev && rm -rf /root/.npm
COPY src src
RUN npm run build && mkdir /data && chown node /data
ENV DATA_DIR=/data
USER node
CMD ["node", "src/start/start.mjs", "cli", "listener"]
