/** Calls an agent from the page, through the door: a signed link's token in a header is the credential (decision 40). */
import { useEffect, useRef, useState } from 'react'
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
