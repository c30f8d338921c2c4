/** Shows an agent's answer: status, times, headers, and the body by its kind. */
import { Badge, Box, Code, Group, Stack, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { Copy } from '../copy.tsx'
import type { Answer, AnswerBody, AnswerEvent } from './answer.ts'
import { parseJson } from './request.ts'
import classes from './try-it.module.css'

export function AnswerView({ answer }: { answer: Answer }) {
  const { status, statusText, headers, firstByteMs, totalMs, bytes, body, failure } = answer
  return (
    <Stack gap="xs" component="section" aria-label="Answer">
      <Group gap="xs" role="status">
        {body.kind !== 'redirect' && (
          <Badge color={status < 300 ? 'green' : status < 500 ? 'yellow' : 'red'} variant="light" tt="none">
            {status} {statusText}
          </Badge>
        )}
        <Text size="xs" c="dimmed">
          first byte {duration(firstByteMs)} · {totalMs === null ? 'arriving' : `total ${duration(totalMs)}`} ·{' '}
          {size(bytes)}
        </Text>
        {failure && (
          <Text size="xs" c="red">
            {failure}
          </Text>
        )}
      </Group>
      {headers.length > 0 && (
        <details>
          <summary className={classes.summary}>Headers ({headers.length})</summary>
          <Code block tabIndex={0} className={classes.code}>
            {headers.map(([name, value]) => `${name}: ${value}`).join('\n')}
          </Code>
        </details>
      )}
      <BodyView body={body} bytes={bytes} />
    </Stack>
  )
}

function BodyView({ body, bytes }: { body: AnswerBody; bytes: number }) {
  switch (body.kind) {
    case 'redirect':
      return <Text size="sm">The agent redirects. Browsers hide to where from a page; the curl command shows it.</Text>
    case 'binary':
      return <Text size="sm">{size(bytes)} of data that is not text.</Text>
    case 'json':
      return (
        <Panel text={JSON.stringify(body.value, null, 2)}>
          <JsonView value={body.value} />
        </Panel>
      )
    case 'text':
      return body.text === '' ? null : (
        <Panel text={body.text}>
          <pre className={classes.text}>{body.text}</pre>
          {body.isCut && 'The rest is not shown.'}
        </Panel>
      )
    case 'events':
      return <Events events={body.events} count={body.count} />
  }
}

function Panel({ text, children }: { text: string; children: ReactNode }) {
  return (
    <div className={classes.panel}>
      <div className={classes.copy}>
        <Copy text={text} what="the answer" />
      </div>
      {/* the keyboard scrolls it */}
      <Box className={classes.scroll} role="group" aria-label="Answer body" tabIndex={0}>
        {children}
      </Box>
    </div>
  )
}

function Events({ events, count }: { events: AnswerEvent[]; count: number }) {
  return (
    <>
      <Text size="xs" c="dimmed">
        {count === 1 ? '1 event' : `${count.toLocaleString()} events`}
        {count > events.length && `, the last ${events.length} are shown`}
      </Text>
      {events.length > 0 && (
        <Panel text={events.map(({ data }) => data).join('\n')}>
          <ol aria-label="Events">
            {events.map((event) => (
              <Event key={event.number} event={event} />
            ))}
          </ol>
        </Panel>
      )}
    </>
  )
}

function Event({ event: { number, name, id, data } }: { event: AnswerEvent }) {
  // numbers and words stay as they are sent
  const value = /^\s*[[{]/.test(data) ? parseJson(data) : undefined
  return (
    <li className={classes.event}>
      <Text size="xs" c="dimmed" className={classes.eventHead}>
        {number} {name ?? 'message'}
        {id !== undefined && ` · id ${id}`}
      </Text>
      <div>
        {value === undefined ? <pre className={classes.text}>{data}</pre> : <JsonView value={value} depth={1} />}
      </div>
    </li>
  )
}

const duration = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`)
const size = (bytes: number): string =>
  bytes < 1000 ? `${bytes} B` : bytes < 1e6 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`

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

/** JSON with members that fold. Folded content is rendered when it is opened. */
function JsonView({ value, name, depth = 0 }: JsonProps): ReactNode {
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
