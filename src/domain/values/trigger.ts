/** What caused a revision. A redeploy causes none (docs/deployments.md#revisions-and-rollouts). */

export const TRIGGERS = {
  create: 'The deployment was created with this revision.',
  update: 'A caller changed what is built or run.',
  secrets: 'A caller changed secrets and not the source.',
  request: 'A caller requested a new revision.',
  push: 'A commit was pushed to the branch.',
} as const
export type Trigger = keyof typeof TRIGGERS
export const TRIGGER_WORDS = Object.keys(TRIGGERS) as [Trigger, ...Trigger[]]

/** The stored trigger. A first revision without one counts as `create`. Null: unknown, or a word of a newer server. */
export function triggerOf({ trigger, number }: { trigger: string | null; number: number }): Trigger | null {
  if (trigger === null) return number === 1 ? 'create' : null
  return trigger in TRIGGERS ? (trigger as Trigger) : null
}
