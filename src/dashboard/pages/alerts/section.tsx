/** A section of the page: a heading with an action, and a list of rows. */
import { Group, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './alerts.module.css'

interface SectionProps {
  title: string
  action?: ReactNode
  children: ReactNode
}

export function Section({ title, action, children }: SectionProps) {
  return (
    <Stack gap="sm" component="section" aria-label={title}>
      <Group justify="space-between">
        <Title order={2} size="h4">
          {title}
        </Title>
        {action}
      </Group>
      {children}
    </Stack>
  )
}

interface RowsProps<Item> {
  items: readonly Item[]
  /** the text of an empty list */
  empty: string
  children(item: Item): ReactNode
}

export function Rows<Item extends { id: string }>({ items, empty, children }: RowsProps<Item>) {
  if (items.length === 0)
    return (
      <Text c="dimmed" size="sm">
        {empty}
      </Text>
    )
  return (
    <ul className={classes.list}>
      {items.map((item) => (
        <li key={item.id} className={classes.row}>
          {children(item)}
        </li>
      ))}
    </ul>
  )
}

interface RowTextProps {
  name: ReactNode
  children?: ReactNode
}

export const RowText = ({ name, children }: RowTextProps) => (
  <Stack gap={0} miw={0} className={classes.text}>
    <Text fw={600} component="div">
      {name}
    </Text>
    <Text size="xs" c="dimmed" component="div">
      {children}
    </Text>
  </Stack>
)
