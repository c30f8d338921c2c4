/** The latest calls of each deployment, in this browser until the user signs out. They have no values of headers with credentials. */
import { USER_DATA } from '../../api/session.ts'
import type { CallRequest } from './request.ts'

export interface RecentCall extends CallRequest {
  /** ISO 8601 */
  at: string
  status: number
}

const MAX_CALLS = 20
/** Longer bodies are not kept. */
const MAX_BODY = 20_000
const PREFIX = `${USER_DATA}calls.`
const CREDENTIAL = /authorization|cookie|key|token|secret|password/i

/** Newest first. */
export function readRecentCalls(deploymentId: string): RecentCall[] {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + deploymentId) ?? '[]')
  } catch {
    return []
  }
}

/** Returns the calls with this one. A repeated call replaces the earlier one. */
export function keepCall(deploymentId: string, call: RecentCall): RecentCall[] {
  const kept = {
    ...call,
    headers: withoutCredentials(call.headers),
    body: call.body.length > MAX_BODY ? '' : call.body,
  }
  const others = readRecentCalls(deploymentId).filter((one) => textOf(one) !== textOf(kept))
  const calls = [kept, ...others].slice(0, MAX_CALLS)
  try {
    localStorage.setItem(PREFIX + deploymentId, JSON.stringify(calls))
  } catch {
    // the storage is full or forbidden
  }
  return calls
}

const textOf = ({ method, path, headers, body }: CallRequest): string => JSON.stringify([method, path, headers, body])

/** Keeps the names of such headers, so that the user sees what to fill in. */
const withoutCredentials = (headers: string): string =>
  headers
    .split('\n')
    .map((line) => {
      const name = line.split(':')[0]!
      return CREDENTIAL.test(name) ? `${name}: ` : line
    })
    .join('\n')
