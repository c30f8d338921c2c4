/**
 * Yoga plugin: the GraphiQL page, where users type keys, loads and calls nothing but this server and can't be framed. Its
 * scripts and styles are inline, so its policy differs from the dashboard's (server/dashboard.ts).
 */
import type { Plugin } from 'graphql-yoga'

const POLICY = [
  "default-src 'none'",
  "script-src 'unsafe-inline'",
  "style-src 'unsafe-inline'",
  'font-src data:',
  "img-src 'self' data:",
  // for the editor
  'worker-src blob:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

export const useGraphiqlPolicy: Plugin = {
  onResponse({ response }) {
    if (!response.headers.get('content-type')?.startsWith('text/html')) return
    response.headers.set('content-security-policy', POLICY)
    response.headers.set('referrer-policy', 'no-referrer')
  },
}
