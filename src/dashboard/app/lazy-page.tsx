/**
 * Loads a page's code when it is opened. If the server is down, the page opens when the server is back.
 * If the server has a new version, the whole app reloads. Preloading failures are not shown.
 */
import { lazyRouteComponent } from '@tanstack/react-router'
import { type ComponentType, useEffect } from 'react'
import { createProblem } from '../api/problem.ts'
import { PageError } from '../components/page.tsx'

/** Has its own message: at the browser's message the router would reload the whole app. */
export class PageLoadError extends Error {}

export const lazyPage = (load: () => Promise<{ default: ComponentType }>) =>
  lazyRouteComponent(() =>
    load().catch((cause: unknown) => {
      throw new PageLoadError('A part of this page could not be loaded.', { cause })
    }),
  )

/** poll of the server's health */
const HEALTH_POLL_MS = 1_500
/** minimum time between two reloads, so that a missing file causes no reload loop */
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
