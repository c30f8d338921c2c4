/** The frame of the keys and sessions lists: heading, filter, rows and "older" button. */
import { Button, Group, SegmentedControl, Stack, Text, Title } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import classes from './keys.module.css'

interface SectionProps {
  title: string
  action?: ReactNode
  /** whether ended entries are shown */
  all: boolean
  onAll(all: boolean): void
  children: ReactNode
}

export function Section({ title, action, all, onAll, children }: SectionProps) {
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
            onChange={(value) => onAll(value === 'all')}
            data={[
              { value: 'valid', label: 'Active' },
              { value: 'all', label: 'All' },
            ]}
          />
          {action}
        </Group>
      </Group>
      {children}
    </Stack>
  )
}

interface Connection<Node> {
  pageInfo: { hasNextPage: boolean; endCursor: string | null }
  nodes: readonly Node[]
}

interface RowsProps<Node> {
  connection: Connection<Node>
  /** null: hides the row */
  row(node: Node): ReactNode
  /** the text of an empty list */
  empty: string
  /** renders the rows after a cursor */
  more(after: string): ReactNode
}

/** One page of rows, and the next page on demand. */
export function Rows<Node>({ connection: { nodes, pageInfo }, row, empty, more }: RowsProps<Node>) {
  const [open, setOpen] = useState(false)
  const { hasNextPage, endCursor } = pageInfo
  const rows = nodes.map(row).filter((one) => one !== null)
  return (
    <>
      {rows.length > 0 && <ul className={classes.list}>{rows}</ul>}
      {rows.length === 0 && !hasNextPage && (
        <Text c="dimmed" size="sm">
          {empty}
        </Text>
      )}
      {hasNextPage &&
        endCursor &&
        (open ? (
          more(endCursor)
        ) : (
          <Button variant="default" size="xs" onClick={() => setOpen(true)} style={{ alignSelf: 'flex-start' }}>
            Show older
          </Button>
        ))}
    </>
  )
}
