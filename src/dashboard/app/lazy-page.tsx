/**
 * The part of the program that a page is, loaded when it is opened. Where the server can't be reached, the rest stays as it is and the
 * page opens when the server is back; of a server that has other files by now it is taken anew. Only who goes there is
 * told: parts are also loaded ahead, of a link that is pointed at.
 */
import { lazyRouteComponent } from '@tanstack/react-router'
import { type ComponentType, useEffect } from 'react'
import { createProblem } from '../api/problem.ts'
import { PageError } from '../components/page.tsx'

/** Its message is our own: at the browser's the router would load the whole page anew, server or not. */
export class PageLoadError extends Error {}

export const lazyPage = (load: () => Promise<{ default: ComponentType }>) =>
  lazyRouteComponent(() =>
    load().catch((cause: unknown) => {
      throw new PageLoadError('A part of this page could not be loaded.', { cause })
    }),
  )

/** ms between two looks at whether the server is there */
const HEALTH_POLL_MS = 1_500
/** ms: whoever lacks the part after that still is not loaded again and again */
const RELOAD_INTERVAL_MS = 10_000
const RELOADED_KEY = 'pilothouse.reloaded'

export function PageUnavailable() {
  useEffect(() => {
    const look = async () => {
      const answer = await fetch('/healthz').catch(() => null)
      if (!answer?.ok || Date.now() - Number(sessionStorage.getItem(RELOADED_KEY) ?? 0) < RELOAD_INTERVAL_MS) return
      sessionStorage.setItem(RELOADED_KEY, String(Date.now()))
      location.reload()
    }
    void look()
    const timer = setInterval(look, HEALTH_POLL_MS)
    return () => clearInterval(timer)
  }, [])
  return (
    <PageError
      error={createProblem('OFFLINE', 'The server can’t be reached. This page opens by itself when it is back.')}
    />
  )
}
