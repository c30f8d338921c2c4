/**
 * `npm run dashboard -- [SERVER URL]`: serves the dashboard from its sources with live reload, in front of a running server
 * (default http://127.0.0.1:8080).
 */
import { createServer, type ProxyOptions } from 'vite'
import { viteConfig } from './dashboard.ts'

const target = process.argv[2] ?? 'http://127.0.0.1:8080'
const proxied: ProxyOptions = {
  target,
  ws: true,
  changeOrigin: true,
  // the server accepts sessions only from its own origin
  configure(proxy) {
    proxy.on('proxyReq', (request) => request.setHeader('origin', target))
    proxy.on('proxyReqWs', (request) => request.setHeader('origin', target))
  },
}
const paths = ['/graphql', '/v1', '/v2', '/docs', '/openapi.json', '/healthz', '/readyz', '/metrics']
const server = await createServer({
  ...viteConfig,
  logLevel: 'info',
  server: { proxy: Object.fromEntries(paths.map((path) => [path, proxied])) },
})
await server.listen()
server.printUrls()
