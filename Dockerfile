# An image for listeners: docker build -t <image> . && docker push <image>
FROM node:22-slim
WORKDIR /app
COPY package.json package-lock.json .npmrc prisma.config.ts ./
COPY prisma prisma
RUN npm ci --omit=dev
COPY src src
RUN npm run build
USER node
CMD ["node", "src/start/start.mjs", "cli", "listener"]
