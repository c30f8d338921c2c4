/**
 * A state in a word and a colour; what moves has a pulse. The word says it all: no state is told by its colour alone. Plain, not
 * one of the kit's parts: a list has a hundred of them, and is scrolled through.
 */

import { stateOf, type Tone } from './labels.ts'
import classes from './status-badge.module.css'

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

/** Of a revision. */
export function StatusBadge({ status, reason }: Parameters<typeof stateOf>[0]) {
  return <StateBadge {...stateOf({ status, reason })} />
}
