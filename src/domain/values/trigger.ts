/** What a revision was made by. Its redeploys make none: they are rollouts of the same (docs/deployments.md#revisions-and-rollouts). */

/** Each with what it means, for people. */
export const TRIGGERS = {
  create: 'The deployment was created with it.',
  update: 'Somebody changed what is built or run.',
  secrets: 'Somebody changed secrets and nothing of the source.',
  request: 'Somebody asked for a new revision.',
  push: 'A commit was pushed to its branch.',
} as const
export type Trigger = keyof typeof TRIGGERS
export const TRIGGER_WORDS = Object.keys(TRIGGERS) as [Trigger, ...Trigger[]]

/** As it was noted. The first revision of a deployment is made with it, also where no server has noted so; null: nobody knows, or a newer server does. */
export function triggerOf({ trigger, number }: { trigger: string | null; number: number }): Trigger | null {
  if (trigger === null) return number === 1 ? 'create' : null
  return trigger in TRIGGERS ? (trigger as Trigger) : null
}
