# An image for listeners: docker build -t <image> . && docker push <image>
FROM node:22-slim
WORKDIR /app
COPY package.json package-lock.json .npmrc prisma.config.ts ./
COPY prisma prisma
RUN npm ci --omit=dev
COPY src src
USER node
CMD ["node", "--import", "tsx", "src/cli/main.ts", "listener"]
