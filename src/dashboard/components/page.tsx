/** The frame of every page: its heading (also the document's title), what can be done with it, and what it says while and when there is nothing to show. */
import { Alert, Button, Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { IconAlertTriangle, IconCompass, IconPlugConnectedX } from '@tabler/icons-react'
import { type ReactNode, useEffect, useRef } from 'react'
import type { CombinedError } from 'urql'
import { useConnection } from '../api/connection.ts'
import { isNotFound, isTransient, type Problem, problemOf } from '../api/problem.ts'

interface PageProps {
  title: string
  /** beside the heading: badges and the like */
  badges?: ReactNode
  /** above it: the way back up */
  breadcrumbs?: ReactNode
  /** below it: a line about what this is */
  description?: ReactNode
  actions?: ReactNode
  children: ReactNode
}

export function Page({ title, badges: beside, breadcrumbs: above, description: below, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Pilothouse`
  }, [title])
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-end" gap="md">
        <Stack gap={4} miw={0}>
          {above}
          <Group gap="sm" align="center">
            <Title order={1} size="h2" tabIndex={-1} id="page-title">
              {title}
            </Title>
            {beside}
          </Group>
          {below && (
            <Text c="dimmed" size="sm" component="div">
              {below}
            </Text>
          )}
        </Stack>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  )
}

/** ms between two tries */
const RETRY_MS = 4_000

/** What a page shows instead of itself when it couldn't be read; asks again by itself. */
export function PageError({ error, retry }: { error: CombinedError | Problem; retry?: () => void }) {
  const wrong = 'graphQLErrors' in error ? problemOf(error) : error
  const { state } = useConnection()
  const passes = isTransient(wrong)
  const again = useRef(retry)
  again.current = retry
  useEffect(() => {
    if (!passes) return
    if (state === 'live') again.current?.()
    // where nothing is followed yet, or what was asked for was lost alone, nobody says when it is back
    const timer = setInterval(() => again.current?.(), RETRY_MS)
    return () => clearInterval(timer)
  }, [state, passes])
  if (isNotFound(wrong)) return <NotFound />
  return (
    <Alert
      color={passes ? 'yellow' : 'red'}
      icon={passes ? <IconPlugConnectedX /> : <IconAlertTriangle />}
      title={passes ? 'This can’t be read at the moment' : 'This can’t be shown'}
      role="alert"
    >
      <Stack gap="sm" align="flex-start">
        <Text size="sm">{wrong.message}</Text>
        {retry && (
          <Button variant="light" color="yellow" size="xs" onClick={retry}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  )
}

export function NotFound({ children }: { children?: ReactNode }) {
  useEffect(() => {
    document.title = 'Not found · Pilothouse'
  }, [])
  return (
    <Stack align="center" gap="xs" py={80} ta="center">
      <IconCompass size={48} stroke={1.2} opacity={0.5} aria-hidden />
      <Title order={1} size="h3">
        Not found
      </Title>
      <Text c="dimmed" maw={420}>
        {children ??
          'There is nothing at this address, or nothing that you may see: it may be gone, or in another workspace.'}
      </Text>
    </Stack>
  )
}

/** A list that has nothing in it: what would be here, and how to begin. */
export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <Stack align="center" gap="xs" py={64} ta="center">
      <Text fw={600}>{title}</Text>
      {children && (
        <Text c="dimmed" size="sm" maw={440} component="div">
          {children}
        </Text>
      )}
      {action}
    </Stack>
  )
}

/** What stands where rows will be. */
export function Loading({ rows = 6 }: { rows?: number }) {
  return (
    <Stack gap="xs" role="status" aria-busy aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same
        <Skeleton key={row} height={36} />
      ))}
    </Stack>
  )
}
