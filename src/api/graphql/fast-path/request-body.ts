/** Reads and parses the body of an ordinary GraphQL request. The bytes can be given back to the stream for Yoga. */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'

/**
 * Reads a body of `length` bytes (more than 0). `request.unshift()` gives it back if nothing else was read. Null: the client
 * disconnected or was too slow (server/http.ts).
 */
export function readRequestBody(request: IncomingMessage, length: number): Buffer | null | Promise<Buffer | null> {
  // reads exactly `length`: a stream that is read past its end accepts no unshift
  const body: Buffer | null = request.read(length)
  return body ?? (request.destroyed ? null : arrival(request, length))
}

function arrival(request: IncomingMessage, length: number): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const look = () => {
      const body: Buffer | null = request.read(length)
      if (body) over(body)
    }
    const gone = () => over(null)
    const over = (body: Buffer | null) => {
      request.off('readable', look).off('close', gone)
      resolve(body)
    }
    request.on('readable', look).once('close', gone)
  })
}

export interface GraphQLRequestBody {
  query: string
  operationName: string | null
  variables: Record<string, unknown>
}

/** Null: the body is not an ordinary request; Yoga must judge it. */
export function parseRequestBody(body: Buffer): GraphQLRequestBody | null {
  // Yoga decides how to decode invalid UTF-8
  if (!isUtf8(body)) return null
  let parsed: unknown
  try {
    parsed = JSON.parse(body.toString('utf8'))
  } catch {
    return null
  }
  if (!isObject(parsed)) return null
  let query: unknown
  let operationName: unknown = null
  let variables: unknown = null
  for (const name in parsed) {
    const value = parsed[name]
    if (name === 'query') query = value
    else if (name === 'operationName') operationName = value
    else if (name === 'variables') variables = value
    else if (name !== 'extensions' || !isNothing(value)) return null
  }
  if (typeof query !== 'string') return null
  if (operationName !== null && (typeof operationName !== 'string' || operationName === '')) return null
  if (variables !== null && !isObject(variables)) return null
  return { query, operationName, variables: variables ?? {} }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isNothing(value: unknown): boolean {
  return value === null || (isObject(value) && Object.keys(value).length === 0)
}
