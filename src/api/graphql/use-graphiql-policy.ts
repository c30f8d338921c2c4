/**
 * Yoga plugin: the page of GraphiQL, in which keys are typed, loads and calls nothing but this server, and stands in no frame. It is one page
 * with all its scripts and styles inside, so those are allowed there; the dashboard's policy is another one (server/dashboard.ts).
 */
import type { Plugin } from 'graphql-yoga'

const POLICY = [
  "default-src 'none'",
  "script-src 'unsafe-inline'",
  "style-src 'unsafe-inline'",
  'font-src data:',
  "img-src 'self' data:",
  // of its editor
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
