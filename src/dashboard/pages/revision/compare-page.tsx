/** `/w/$ws/deployments/$id/compare`: what differs between any two revisions of a deployment. */
import { ActionIcon, Group, Paper, Select, Stack, Tooltip } from '@mantine/core'
import { IconArrowsExchange } from '@tabler/icons-react'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useQuery } from 'urql'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { ActorName, actorFragment } from '../../components/actor-name.tsx'
import { stateOf } from '../../components/labels.ts'
import { LinkTo } from '../../components/links.tsx'
import { Breadcrumbs, Empty, NotFound, Page, QueryView } from '../../components/page.tsx'
import { changesFragment, RevisionChanges } from '../../components/revision-changes.tsx'
import { RevisionSourceLine } from '../../components/revision-source.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { TimeAgo } from '../../components/time.tsx'
import type { CompareSearch } from './search.ts'

/** One of two columns; stacked on narrow screens. */
const HALF = { flex: '1 1 260px', miw: 0 }

const ROUTE = '/w/$ws/deployments/$id/compare'

const revisionsQuery = graphql(`
  query ComparableRevisions($id: ID!) {
    deployment(id: $id) {
      id
      name
      activeRevision {
        id
        number
      }
      comparable: revisions(first: 100) {
        nodes {
          id
          number
          status
          reason
          commitMessage
          createdAt
          sourceRevisionConfig {
            repoRef
            repoCommitSha
            imageUri
          }
        }
      }
    }
  }
`)

const compareQuery = graphql(
  `
  query Compare($from: ID!, $to: ID!) {
    compareRevisions(from: $from, to: $to) {
      from {
        ...ComparedRevision
      }
      to {
        ...ComparedRevision
      }
      ...RevisionChanges
    }
  }
  fragment ComparedRevision on Revision @_unmask {
    id
    number
    status
    reason
    isActive
    commitMessage
    commitAuthor
    createdAt
    createdByActor {
      ...ActorName
    }
    sourceRevisionConfig {
      repoRef
      repoCommitSha
      imageUri
      sourceTarballPath
    }
  }
`,
  [changesFragment, actorFragment],
)

type Deployment = NonNullable<ResultOf<typeof revisionsQuery>['deployment']>
type Compared = NonNullable<ResultOf<typeof compareQuery>['compareRevisions']>['from']

export default function ComparePage() {
  const { id } = useParams({ from: ROUTE })
  const query = useQuery({ query: revisionsQuery, variables: { id }, requestPolicy: 'cache-and-network' })
  return (
    <QueryView query={query}>
      {({ deployment }) => (deployment ? <Comparison deployment={deployment} /> : <NotFound />)}
    </QueryView>
  )
}

/** The default pair: the latest revision against the active one, or against the previous one. */
function defaultPair({ activeRevision: active, comparable: { nodes } }: Deployment, { from, to }: CompareSearch) {
  const latest = to ?? nodes.find(({ id }) => id !== from)?.id
  const serves = active && active.id !== latest ? active.id : undefined
  const number = nodes.find(({ id }) => id === latest)?.number ?? Number.POSITIVE_INFINITY
  const before = nodes.find((one) => one.number < number)?.id
  return { from: from === 'before' ? before : (from ?? serves ?? before), to: latest }
}

function Comparison({ deployment }: { deployment: Deployment }) {
  const { from, to } = defaultPair(deployment, useSearch({ from: ROUTE }))
  const navigate = useNavigate({ from: ROUTE })
  const look = (search: CompareSearch) => void navigate({ search, replace: true })
  const nodes = deployment.comparable.nodes
  const data = nodes.map((one) => ({ value: one.id, label: labelOf(one, deployment.activeRevision?.id === one.id) }))
  return (
    <Page title="Compare revisions" breadcrumbs={<Breadcrumbs deployment={deployment} />}>
      {nodes.length < 2 ? (
        <Empty title="Nothing to compare yet">
          {deployment.name} has one revision. The next one can be compared with it.
        </Empty>
      ) : (
        <Stack gap="lg">
          <Group gap={12} align="flex-end">
            <RevisionSelect label="From" data={data} value={from} onChange={(value) => look({ from: value, to })} />
            <Tooltip label="Swap">
              <ActionIcon variant="default" size={36} onClick={() => look({ from: to, to: from })} aria-label="Swap">
                <IconArrowsExchange size={18} />
              </ActionIcon>
            </Tooltip>
            <RevisionSelect label="To" data={data} value={to} onChange={(value) => look({ from, to: value })} />
          </Group>
          {from && to && <Differences key={`${from} ${to}`} from={from} to={to} deploymentId={deployment.id} />}
        </Stack>
      )}
    </Page>
  )
}

function labelOf(revision: Deployment['comparable']['nodes'][number], active: boolean) {
  const { number, commitMessage, sourceRevisionConfig: made } = revision
  // the option has no room for the whole image name; its end differs
  const image = made.imageUri?.split('/').at(-1)
  const what = commitMessage ?? image ?? made.repoCommitSha?.slice(0, 7) ?? made.repoRef ?? ''
  const state = active ? 'serves' : stateOf(revision).label.toLowerCase()
  return `#${number} · ${state}${what ? ` · ${what}` : ''}`
}

interface ChoiceProps {
  label: string
  data: { value: string; label: string }[]
  value: string | undefined
  onChange(value: string): void
}

const RevisionSelect = ({ label, data, value, onChange }: ChoiceProps) => (
  <Select
    label={label}
    data={data}
    value={value ?? null}
    onChange={(chosen) => chosen && onChange(chosen)}
    searchable
    allowDeselect={false}
    {...HALF}
    nothingFoundMessage="No match"
  />
)

function Differences({ from, to, deploymentId }: { from: string; to: string; deploymentId: string }) {
  const query = useQuery({ query: compareQuery, variables: { from, to }, requestPolicy: 'cache-and-network' })
  return (
    <QueryView query={query}>
      {({ compareRevisions: found }) =>
        found ? (
          <Stack gap="md">
            <Group gap={12} align="stretch">
              <Side revision={found.from} deploymentId={deploymentId} />
              <Side revision={found.to} deploymentId={deploymentId} />
            </Group>
            <RevisionChanges
              comparison={found}
              same="Nothing differs: both are made of the same, and run with the same."
            />
          </Stack>
        ) : (
          <NotFound />
        )
      }
    </QueryView>
  )
}

function Side({ revision, deploymentId }: { revision: Compared; deploymentId: string }) {
  const { ws } = useParams({ from: '/w/$ws' })
  const { id, number, createdAt, createdByActor } = revision
  return (
    <Paper withBorder p="sm" {...HALF}>
      <Stack gap={6} align="flex-start">
        <Group gap={8}>
          <LinkTo
            to="/w/$ws/deployments/$id/revisions/$revisionId"
            params={{ ws, id: deploymentId, revisionId: id }}
            fw={650}
          >
            #{number}
          </LinkTo>
          <StatusBadge {...revision} />
        </Group>
        <RevisionSourceLine revision={revision} />
        <Group gap={8} fz="xs" c="dimmed">
          <TimeAgo at={createdAt} />
          {createdByActor && (
            <>
              <span>by</span>
              <ActorName actor={createdByActor} />
            </>
          )}
        </Group>
      </Stack>
    </Paper>
  )
}
