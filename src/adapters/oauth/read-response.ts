/** Reads a complete response and returns it as the Response that libraries accept. */
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { OAuthFailure } from '../../domain/ports/oauth-client.ts'

/** Also limits the decompressed body. OAuth documents are far smaller. */
export const MAX_BODY_BYTES = 1024 * 1024

const DECOMPRESSORS = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
}

/** Headers that no longer match the decompressed body. */
const DROPPED_HEADERS = new Set(['content-encoding', 'content-length', 'transfer-encoding'])

/** Passes on errors of the connection and of decompression. */
export async function readResponse({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<Response> {
  const bytes = await decompress(new Uint8Array(await body.arrayBuffer()), String(headers['content-encoding'] ?? ''))
  if (statusCode < 200 || statusCode > 599) throw new OAuthFailure('unusable', `answered ${statusCode}`)
  const init = { status: statusCode, headers: plainHeaders(headers) }
  return new Response([204, 205, 304].includes(statusCode) ? null : bytes, init)
}

async function decompress(bytes: Uint8Array<ArrayBuffer>, encoding: string): Promise<Uint8Array<ArrayBuffer>> {
  const name = encoding.trim().toLowerCase()
  if (name === '' || name === 'identity' || bytes.length === 0) return bytes
  const unpack = Object.hasOwn(DECOMPRESSORS, name) ? DECOMPRESSORS[name as keyof typeof DECOMPRESSORS] : null
  if (!unpack) throw new OAuthFailure('unanswered', 'sent an answer that cannot be read (its encoding is not known)')
  return new Uint8Array(await unpack(bytes, { maxOutputLength: MAX_BODY_BYTES }))
}

function plainHeaders(headers: Dispatcher.ResponseData['headers']): Headers {
  const plain = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    if (DROPPED_HEADERS.has(name)) continue
    for (const one of [value ?? []].flat()) plain.append(name, one)
  }
  return plain
}
