/** What serves a deployment now: a label, with ready and desired replicas. */
import { isOpen, type Tone } from './labels.ts'

interface ServingInput {
  status: string
  serving: boolean
  health: { ready: number; desired: number; observedAt: string | null } | null
  activeRevision: object | null
  latestRevision: { status: Parameters<typeof isOpen>[0] } | null
}

export function servingState({ status, serving, health, activeRevision, latestRevision: latest }: ServingInput): {
  label: string
  tone: Tone
} {
  if (status === 'AWAITING_DELETE') return { label: 'Being deleted', tone: 'quiet' }
  if (!activeRevision) return { label: latest && isOpen(latest.status) ? 'Nothing yet' : 'Nothing', tone: 'quiet' }
  const replicas = health && health.desired > 1 ? ` ${health.ready}/${health.desired}` : ''
  if (status === 'UNKNOWN') return { label: 'Unknown', tone: 'waiting' }
  if (!serving)
    return { label: health?.observedAt && health.ready > 0 ? 'Not observed' : `Down${replicas}`, tone: 'bad' }
  if (health && health.ready < health.desired) return { label: `Degraded${replicas}`, tone: 'waiting' }
  return { label: `Serving${replicas}`, tone: 'good' }
}
