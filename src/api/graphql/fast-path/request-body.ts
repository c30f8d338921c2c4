/** The body of a request of GraphQL, where it is an ordinary one. */
import { isUtf8 } from 'node:buffer'

export interface Asked {
  query: string
  operationName: string | null
  variables: Record<string, unknown>
}

/** Null: whatever else it may be. */
export function readAsked(body: Buffer): Asked | null {
  // what stands for bytes that are no text is decided elsewhere
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
