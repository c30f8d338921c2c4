/** What answers for a deployment now, in a word and with its replicas. */
import { isOpen, type Tone } from './words.ts'

interface Served {
  status: string
  serving: boolean
  health: { ready: number; desired: number; observedAt: string | null } | null
  activeRevision: object | null
  latestRevision: { status: Parameters<typeof isOpen>[0] } | null
}

export function servesOf({ status, serving, health, activeRevision, latestRevision: latest }: Served): {
  word: string
  tone: Tone
} {
  if (status === 'AWAITING_DELETE') return { word: 'Being deleted', tone: 'quiet' }
  if (!activeRevision) return { word: latest && isOpen(latest.status) ? 'Nothing yet' : 'Nothing', tone: 'quiet' }
  const replicas = health && health.desired > 1 ? ` ${health.ready}/${health.desired}` : ''
  if (status === 'UNKNOWN') return { word: 'Unknown', tone: 'waiting' }
  if (!serving)
    return { word: health?.observedAt && health.ready > 0 ? 'Not observed' : `Down${replicas}`, tone: 'bad' }
  if (health && health.ready < health.desired) return { word: `Degraded${replicas}`, tone: 'waiting' }
  return { word: `Serving${replicas}`, tone: 'good' }
}
