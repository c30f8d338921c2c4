/**
 * The frame of every page (heading, breadcrumbs, document title, actions), its facts, and its states: loading, error, empty,
 * not found.
 */
import { Alert, Button, Breadcrumbs as Crumbs, Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { IconAlertTriangle, IconCompass, IconPlugConnectedX } from '@tabler/icons-react'
import { useParams } from '@tanstack/react-router'
import { Fragment, type ReactNode, useEffect, useRef } from 'react'
import type { CombinedError } from 'urql'
import { isNotFound, isTransient, type Problem, problemOf } from '../api/problem.ts'
import { useConnection } from '../api/socket.ts'
import classes from './components.module.css'
import { LinkTo } from './links.tsx'

interface PageProps {
  title: string
  /** next to the heading */
  badges?: ReactNode
  /** above the heading */
  breadcrumbs?: ReactNode
  /** below the heading: one line that explains the page */
  description?: ReactNode
  actions?: ReactNode
  children: ReactNode
}

export function Page({ title, badges, breadcrumbs, description, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Pilothouse`
  }, [title])
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-end" gap="md">
        <Stack gap={4} miw={0}>
          {breadcrumbs}
          <Group gap="sm" align="center">
            <Title order={1} size="h2" tabIndex={-1} id="page-title">
              {title}
            </Title>
            {badges}
          </Group>
          {description && (
            <Text c="dimmed" size="sm" component="div">
              {description}
            </Text>
          )}
        </Stack>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  )
}

const RETRY_MS = 4_000

/** The error state of a page. Transient errors are retried automatically. */
export function PageError({ error, retry }: { error: CombinedError | Problem; retry?: () => void }) {
  const wrong = 'graphQLErrors' in error ? problemOf(error) : error
  const { state } = useConnection()
  const passes = isTransient(wrong)
  const again = useRef(retry)
  again.current = retry
  useEffect(() => {
    if (!passes) return
    if (state === 'live') again.current?.()
    // without a subscription no event reports that the server is back
    const timer = setInterval(() => again.current?.(), RETRY_MS)
    return () => clearInterval(timer)
  }, [state, passes])
  if (isNotFound(wrong)) return <NotFound />
  return (
    <Alert
      color={passes ? 'yellow' : 'red'}
      icon={passes ? <IconPlugConnectedX /> : <IconAlertTriangle />}
      title={passes ? 'Temporarily unavailable' : 'Can’t show this page'}
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
        {children ?? 'This page does not exist, was deleted, or is in another workspace.'}
      </Text>
    </Stack>
  )
}

/** The empty state of a list: what it will show, and how to start. */
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

/** Placeholders for rows. */
export function Loading({ rows = 6 }: { rows?: number }) {
  return (
    <Stack gap="xs" role="status" aria-busy aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: all rows are equal
        <Skeleton key={row} height={36} />
      ))}
    </Stack>
  )
}

interface QueryViewProps<Data> {
  /** the first two results of `useQuery` */
  query: readonly [
    { data?: Data; error?: CombinedError; fetching: boolean },
    (options?: { requestPolicy: 'network-only' }) => void,
  ]
  waiting?: ReactNode
  children: (data: Data) => ReactNode
}

/** Shows a query's loading state, error or data. Old data stays visible during a reload. */
export function QueryView<Data>({ query: [{ data, error }, again], waiting, children }: QueryViewProps<Data>) {
  if (data) return children(data)
  if (error) return <PageError error={error} retry={() => again({ requestPolicy: 'network-only' })} />
  return waiting ?? <Loading />
}

interface BreadcrumbsProps {
  /** the deployment that the page belongs to */
  deployment?: { id: string; name: string }
  /** the page itself, if its heading has another name */
  here?: string
}

/** Breadcrumbs above the heading of a page about deployments. */
export function Breadcrumbs({ deployment, here }: BreadcrumbsProps) {
  const { ws } = useParams({ from: '/w/$ws' })
  return (
    <nav aria-label="Breadcrumbs">
      <Crumbs separatorMargin={6} classNames={{ breadcrumb: classes.crumb, separator: classes.crumb }}>
        <LinkTo to="/w/$ws/deployments" params={{ ws }}>
          Deployments
        </LinkTo>
        {deployment && (
          <LinkTo to="/w/$ws/deployments/$id" params={{ ws, id: deployment.id }}>
            {deployment.name}
          </LinkTo>
        )}
        {here}
      </Crumbs>
    </nav>
  )
}

/** Terms and their values, in two columns. A fact without a value is left out. */
export const Facts = ({ facts }: { facts: Record<string, ReactNode> }) => (
  <dl className={classes.facts}>
    {Object.entries(facts).map(
      ([term, value]) =>
        value && (
          <Fragment key={term}>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </Fragment>
        ),
    )}
  </dl>
)

interface PagingProps {
  /** the cursor before the page; null: the first page */
  after: string | null
  pageInfo: { hasNextPage: boolean; endCursor: string | null }
  onAfter(after: string | null): void
  /** the buttons' labels */
  labels?: readonly [first: string, next: string]
}

/** Shows nothing when the list fits on one page. */
export function Paging({ after, pageInfo, onAfter, labels: [first, next] = ['Newest', 'Older'] }: PagingProps) {
  if (!pageInfo.hasNextPage && after === null) return null
  return (
    <Button.Group>
      <Button variant="default" disabled={after === null} onClick={() => onAfter(null)}>
        {first}
      </Button>
      <Button variant="default" disabled={!pageInfo.hasNextPage} onClick={() => onAfter(pageInfo.endCursor)}>
        {next}
      </Button>
    </Button.Group>
  )
}
