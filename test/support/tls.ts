// Requests over TLS with a certificate authority of the test.
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import https from 'node:https'

/** Rejects when the certificate is not of this authority. */
export async function getOverTls(url: string, ca: Buffer): Promise<IncomingMessage> {
  const [response] = await once(https.get(url, { ca }), 'response')
  return response
}
