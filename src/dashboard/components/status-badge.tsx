/**
 * A state as a label and a colour; a pulse marks running work. The label alone says everything.
 * Plain elements, not Mantine's: a list scrolls through hundreds of badges.
 */

import classes from './components.module.css'
import { stateOf, type Tone } from './labels.ts'

interface StateBadgeProps {
  label: string
  tone: Tone
  title?: string
}

export function StateBadge({ label: word, tone, title }: StateBadgeProps) {
  return (
    <span className={classes.badge} data-tone={tone} title={title}>
      <span className={classes.dot} />
      {word}
    </span>
  )
}

/** The badge of a revision. */
export function StatusBadge({ status, reason }: Parameters<typeof stateOf>[0]) {
  return <StateBadge {...stateOf({ status, reason })} />
}
