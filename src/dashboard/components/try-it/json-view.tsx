/** JSON with members that fold. Folded content is rendered when it is opened. */
import { type ReactNode, useState } from 'react'
import classes from './try-it.module.css'

/** Objects and lists down to this depth are open, if they are short. */
const OPEN_DEPTH = 2
const SHORT = 50
/** Longer lists show only their first members. */
const MAX_MEMBERS = 500

interface JsonProps {
  value: unknown
  /** of the member */
  name?: string
  depth?: number
}

export function JsonView({ value, name, depth = 0 }: JsonProps): ReactNode {
  const label = name !== undefined && <span className={classes.member}>{name}: </span>
  if (value === null || typeof value !== 'object')
    return (
      <div className={classes.json}>
        {label}
        <span data-type={typeof value}>{JSON.stringify(value)}</span>
      </div>
    )
  return <Folded label={label} value={value} depth={depth} />
}

function Folded({ label, value, depth }: { label: ReactNode; value: object; depth: number }) {
  const isList = Array.isArray(value)
  const members = Object.entries(value)
  const [isOpen, setIsOpen] = useState(depth < OPEN_DEPTH && members.length <= SHORT)
  const [start, end] = isList ? ['[', ']'] : ['{', '}']
  if (members.length === 0)
    return (
      <div className={classes.json}>
        {label}
        {start}
        {end}
      </div>
    )
  return (
    <details className={classes.json} open={isOpen} onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>
        {label}
        {start}
        {!isOpen && (
          <>
            <span className={classes.count}>
              {members.length} {isList ? 'items' : 'members'}
            </span>
            {end}
          </>
        )}
      </summary>
      {isOpen && (
        <>
          <div className={classes.members}>
            {members.slice(0, MAX_MEMBERS).map(([name, one]) => (
              <JsonView key={name} value={one} depth={depth + 1} {...(!isList && { name })} />
            ))}
            {members.length > MAX_MEMBERS && `… ${members.length - MAX_MEMBERS} more`}
          </div>
          {end}
        </>
      )}
    </details>
  )
}
