/** The derived fields of a deployment: their columns and functions. GraphQL's type and its compiled reads share them. */
import { CHANGE_FIELDS, lastChangeOf } from '../values/deployment-change.ts'
import { CONDITION_FIELDS, conditionOf } from './condition.ts'
import { healthOf, isServing, SERVING_FIELDS } from './serving.ts'
import { deploymentStatus, STATUS_FIELDS } from './status.ts'
import { deploymentUrl, URL_FIELDS } from './url.ts'
import { WHY_NOT_LIVE_FIELDS, whyNotLive } from './why-not-live.ts'

interface Derived<S, R, V> {
  select: S
  derive(row: R, now: Date): V
}
const derived = <S, R, V>(select: S, derive: (row: R, now: Date) => V): Derived<S, R, V> => ({ select, derive })

type Deployment = Parameters<typeof conditionOf>[0]

/** These change with the clock: an answer with one of them expires at deploymentValidUntil(). */
export const CLOCK_DERIVED_FIELDS = {
  status: derived(STATUS_FIELDS, deploymentStatus),
  statusMessage: derived(CONDITION_FIELDS, (row: Deployment, now) => conditionOf(row, now)?.message ?? null),
  reason: derived(CONDITION_FIELDS, (row: Deployment, now) => conditionOf(row, now)?.reason ?? null),
  reasonSince: derived(CONDITION_FIELDS, (row: Deployment, now) => conditionOf(row, now)?.since ?? null),
  serving: derived(SERVING_FIELDS, isServing),
  health: derived(SERVING_FIELDS, healthOf),
  whyNotLive: derived(WHY_NOT_LIVE_FIELDS, whyNotLive),
}

export const DERIVED_FIELDS = {
  ...CLOCK_DERIVED_FIELDS,
  url: derived(URL_FIELDS, deploymentUrl),
  lastChange: derived(CHANGE_FIELDS, lastChangeOf),
}
