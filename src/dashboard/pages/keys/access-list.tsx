/** A list of keys or sessions. Ended ones are hidden until the reader asks for all; older pages are appended on demand. */
import { Badge, Button, Group, SegmentedControl, Stack, Text, Title } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { type TypedDocumentNode, useQuery } from 'urql'
import { QueryView } from '../../components/page.tsx'
import { useNewEvents } from '../../components/refresh.ts'
import { fullTime, TimeAgo } from '../../components/time.tsx'
import classes from './keys.module.css'

interface Lifetime {
  /** null: does not expire */
  expiresAt: string | null
  /** when it was revoked */
  endedAt: string | null
}

interface Row extends Lifetime {
  id: string
  name: ReactNode
  /** below the name */
  below: ReactNode
  role: string
  /** labels of additional rights */
  rights: readonly string[]
  lastUsedAt: string | null
  /** the button that ends it, while it has not ended */
  end: ReactNode
}

interface Rows {
  pageInfo: { hasNextPage: boolean; endCursor: string | null }
  rows: readonly Row[]
}

interface AccessListProps<Data> {
  title: string
  action?: ReactNode
  query: TypedDocumentNode<Data, { after?: string | null }>
  rowsOf(data: Data): Rows
  /** types of the events that change the list */
  events: string[]
  /** the text of an empty list */
  empty: string
}

export const END_BUTTON = { size: 'compact-xs', variant: 'subtle', color: 'red' } as const

export function AccessList<Data>({ title, action, ...list }: AccessListProps<Data>) {
  const [all, setAll] = useState(false)
  return (
    <Stack gap="sm" component="section" aria-label={title}>
      <Group justify="space-between">
        <Title order={2} size="h4">
          {title}
        </Title>
        <Group gap="xs">
          <SegmentedControl
            size="xs"
            aria-label={`Which ${title.toLowerCase()}`}
            value={all ? 'all' : 'valid'}
            onChange={(value) => setAll(value === 'all')}
            data={[
              { value: 'valid', label: 'Active' },
              { value: 'all', label: 'All' },
            ]}
          />
          {action}
        </Group>
      </Group>
      <ListPage {...list} all={all} after={null} />
    </Stack>
  )
}

type ListPageProps<Data> = Omit<AccessListProps<Data>, 'title'> & { all: boolean; after: string | null }

/** One page of rows, and the next page on demand. */
function ListPage<Data>(list: ListPageProps<Data>) {
  const { query: document, rowsOf, events, empty, all, after } = list
  const query = useQuery({ query: document, variables: { after }, requestPolicy: 'cache-and-network' })
  useNewEvents({ types: events }, () => query[1]({ requestPolicy: 'network-only' }))
  const [open, setOpen] = useState(false)
  return (
    <QueryView query={query}>
      {(data) => {
        const { rows, pageInfo } = rowsOf(data)
        const shown = rows.filter((row) => all || !isEnded(row))
        return (
          <>
            {shown.length > 0 && (
              <ul className={classes.list}>
                {shown.map((row) => (
                  <AccessRow key={row.id} {...row} />
                ))}
              </ul>
            )}
            {shown.length === 0 && !pageInfo.hasNextPage && (
              <Text c="dimmed" size="sm">
                {empty}
              </Text>
            )}
            {pageInfo.hasNextPage &&
              (open ? (
                <ListPage {...list} after={pageInfo.endCursor} />
              ) : (
                <Button variant="default" size="xs" onClick={() => setOpen(true)} style={{ alignSelf: 'flex-start' }}>
                  Show older
                </Button>
              ))}
          </>
        )
      }}
    </QueryView>
  )
}

function AccessRow({ name, below, role, rights, lastUsedAt, expiresAt, endedAt, end }: Row) {
  const isOver = isEnded({ expiresAt, endedAt })
  return (
    <li className={`${classes.row} ${isOver ? classes.over : ''}`}>
      <Stack gap={0} miw={0}>
        <Group gap="xs" className={classes.name}>
          {name}
        </Group>
        <Text size="xs" c="dimmed" component="div">
          {below}
        </Text>
      </Stack>
      <Group gap={4}>
        <Badge variant="light" color={isOver ? 'gray' : role === 'admin' ? 'orange' : 'teal'}>
          {role}
        </Badge>
        {rights.map((right) => (
          <Badge key={right} variant="default" fw={500}>
            {right}
          </Badge>
        ))}
      </Group>
      <Text size="xs" c="dimmed" component="div">
        {lastUsedAt ? (
          <div>
            used <TimeAgo at={lastUsedAt} />
          </div>
        ) : (
          <div>never used</div>
        )}
        <div>{endText({ expiresAt, endedAt })}</div>
      </Text>
      <Group justify="flex-end">{!isOver && end}</Group>
    </li>
  )
}

/** Whether it is expired or revoked. */
const isEnded = ({ expiresAt, endedAt }: Lifetime): boolean =>
  endedAt !== null || (expiresAt !== null && Date.parse(expiresAt) <= Date.now())

function endText({ expiresAt, endedAt }: Lifetime): ReactNode {
  if (endedAt)
    return (
      <>
        revoked <TimeAgo at={endedAt} />
      </>
    )
  if (!expiresAt) return 'does not expire'
  return isEnded({ expiresAt, endedAt }) ? (
    <>
      expired <TimeAgo at={expiresAt} />
    </>
  ) : (
    `until ${fullTime(expiresAt)}`
  )
}
