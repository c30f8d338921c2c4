/**
 * Calls an agent from the page, through the door: a signed link's token in a header is the credential (decision 40). Keeps the
 * latest calls of each deployment in this browser until the user signs out, without values of headers with credentials.
 */
import { useEffect, useRef, useState } from 'react'
import { USER_DATA } from '../../api/session.ts'
import { useCreateLink } from '../deployment-link.ts'
import { type Answer, readAnswer } from './answer.ts'
import { type CallRequest, hasBody, headersOf, targetOf } from './request.ts'

export interface CalledDeployment {
  id: string
  url: string
  access: 'workspace' | 'organization' | 'public'
}

/** The token is valid for this time: it must only outlast the way to the door. */
const LINK_SECONDS = 60
const UNREADABLE = `There is no answer that this page may read. The agent may not be reachable from this browser, its address may not lead
through the door of this server, or the dashboard may be open at another address than PUBLIC_URL. The curl command needs no browser.`

interface Call {
  /** null: none has arrived */
  answer: Answer | null
  failure: string | null
  isRunning: boolean
}

export function useCall({ id, url, access }: CalledDeployment) {
  const [createLink] = useCreateLink()
  const [call, setCall] = useState<Call>({ answer: null, failure: null, isRunning: false })
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])

  /** The link's token; empty for a public deployment. */
  async function fetchToken(): Promise<string> {
    if (access === 'public') return ''
    const outcome = await createLink({ input: { deploymentId: id, expiresIn: LINK_SECONDS } })
    if (!outcome.ok) throw new Error(outcome.problem.message)
    return new URL(outcome.value.url).searchParams.get('pilothouse_link') ?? ''
  }

  /** Returns null when there is no answer. */
  async function send(request: CallRequest): Promise<Answer | null> {
    running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    const { signal } = controller
    const isCurrent = () => running.current === controller
    const fail = (failure: string) => {
      if (isCurrent()) setCall({ answer: null, failure, isRunning: false })
      return null
    }
    setCall({ answer: null, failure: null, isRunning: true })
    try {
      const headers = new Headers(headersOf(request) ?? [])
      headers.set('x-pilothouse-link', await fetchToken())
      signal.throwIfAborted()
      const startedAt = performance.now()
      const response = await fetch(targetOf(url, request.path)!, {
        method: request.method,
        headers,
        ...(hasBody(request) && request.body !== '' && { body: request.body }),
        // the agent's cookies belong to its own pages
        credentials: 'omit',
        // a redirect could lead the token to another host
        redirect: 'manual',
        cache: 'no-store',
        referrerPolicy: 'no-referrer',
        signal,
      })
      const show = (answer: Answer) =>
        isCurrent() && setCall({ answer, failure: null, isRunning: answer.totalMs === null })
      return await readAnswer(response, startedAt, show)
    } catch (error) {
      if (signal.aborted) return fail('Stopped.')
      return fail(error instanceof TypeError ? UNREADABLE : (error as Error).message)
    }
  }

  return { ...call, send, stop: () => running.current?.abort() }
}

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
