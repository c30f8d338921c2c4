/** `/w/$ws/deployments/$id/revisions/$revisionId`: one revision with its status, cause and logs. */
import { Code, Group, Stack, Text } from '@mantine/core'
import { IconGitCommit, IconPackage } from '@tabler/icons-react'
import { useParams } from '@tanstack/react-router'
import { useQuery } from 'urql'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { isNotFound, problemOf } from '../../api/problem.ts'
import { actionTargetFragment, targetRevisionFragment } from '../../components/action-target.ts'
import { ActorName, actorFragment } from '../../components/actor-name.tsx'
import { Copy } from '../../components/copy.tsx'
import { stateOf } from '../../components/labels.ts'
import { LinkTo } from '../../components/links.tsx'
import { Breadcrumbs, NotFound, Page, QueryView } from '../../components/page.tsx'
import { Reason } from '../../components/reason.tsx'
import { useDeploymentRefresh, useLastValue } from '../../components/refresh.ts'
import { StateBadge, StatusBadge } from '../../components/status-badge.tsx'
import { Steps, stepsFragment } from '../../components/steps.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { Actions } from './actions.tsx'
import { LogView } from './log-view.tsx'

const revisionQuery = graphql(
  `
  query Revision($id: ID!) {
    revision(id: $id) {
      ...ActedRevision
      attempt
      statusMessage
      reason
      reasonSince
      createdAt
      deployedAt
      isActive
      trigger
      commitMessage
      commitAuthor
      buildPlan {
        sentence
      }
      rolloutAt
      rolloutBy {
        ...ActorName
      }
      createdByActor {
        ...ActorName
      }
      supersededBy {
        id
        number
      }
      ...Steps
      source
      sourceRevisionConfig {
        repoRef
        repoCommitSha
        imageUri
        sourceTarballPath
      }
      deployment {
        ...ActedOn
      }
    }
  }
`,
  [actorFragment, stepsFragment, actionTargetFragment, targetRevisionFragment],
)

type Revision = NonNullable<ResultOf<typeof revisionQuery>['revision']>

export default function RevisionPage() {
  const { id, revisionId } = useParams({ from: '/w/$ws/deployments/$id/revisions/$revisionId' })
  const query = useQuery({ query: revisionQuery, variables: { id: revisionId }, requestPolicy: 'cache-and-network' })
  const [{ data, error }, again] = query
  const shown = useLastValue(revisionId, data?.revision)
  // refreshes the steps; the log has its own subscription
  useDeploymentRefresh(id, () => again({ requestPolicy: 'network-only' }))
  if (error && isNotFound(problemOf(error))) return <NotFound />
  if (shown) return shown.deployment.id === id ? <RevisionView revision={shown} /> : <NotFound />
  return <QueryView query={query}>{() => <NotFound />}</QueryView>
}

function RevisionView({ revision }: { revision: Revision }) {
  const { ws } = useParams({ from: '/w/$ws' })
  const { number, status, statusMessage, reason, reasonSince, deployment, supersededBy, isActive } = revision
  const { tone } = stateOf(revision)
  const to = { ws, id: deployment.id }
  return (
    <Page
      title={`${deployment.name} #${number}`}
      badges={
        <>
          <StatusBadge {...revision} />
          {isActive &&
            (deployment.serving ? (
              <StateBadge label="Serves" tone="good" title="This revision is serving" />
            ) : (
              <StateBadge label="Should serve" tone="bad" title="This revision should serve but doesn’t" />
            ))}
        </>
      }
      breadcrumbs={<Breadcrumbs deployment={deployment} />}
      description={<Origin revision={revision} />}
      actions={<Actions deployment={deployment} revision={revision} />}
    >
      <Steps revision={revision} />
      <Reason
        message={statusMessage}
        reason={reason}
        since={status === 'DEPLOYED' || tone === 'bad' ? null : reasonSince}
        tone={tone}
        actions={
          supersededBy && (
            <LinkTo
              to="/w/$ws/deployments/$id/revisions/$revisionId"
              params={{ ...to, revisionId: supersededBy.id }}
              size="sm"
            >
              Revision #{supersededBy.number}
            </LinkTo>
          )
        }
      />
      <LogView defaultType={defaultLogType(status)} name={`${deployment.name}-${number}`} revision={revision} />
    </Page>
  )
}

/** The build log is preferred until the build has succeeded. */
const defaultLogType = (status: Revision['status']) =>
  ['CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'BUILD_FAILED', 'CREATE_FAILED'].includes(status)
    ? 'build'
    : 'deploy'

const TRIGGERS = {
  create: 'created with the deployment',
  push: 'created by a push',
  request: 'requested',
  secrets: 'created by a secrets change',
  update: 'created by a settings change',
} as const

function Origin({ revision }: { revision: Revision }) {
  const {
    sourceRevisionConfig: config,
    commitMessage,
    commitAuthor,
    buildPlan,
    trigger,
    createdAt,
    createdByActor,
  } = revision
  const { attempt, rolloutAt, rolloutBy } = revision
  return (
    <Stack gap={4}>
      {commitMessage && (
        <Text size="sm" c="var(--mantine-color-text)" style={{ overflowWrap: 'anywhere' }}>
          {commitMessage}
          {commitAuthor && (
            <Text span inherit c="dimmed">
              {' '}
              by {commitAuthor}
            </Text>
          )}
        </Text>
      )}
      <Group gap="4px 16px">
        <SourceContent config={config} />
        <Group gap={4}>
          <span>
            {trigger ? TRIGGERS[trigger] : 'created'} <TimeAgo at={createdAt} />
          </span>
          {createdByActor && (
            <>
              by <ActorName actor={createdByActor} />
            </>
          )}
        </Group>
        {attempt > 1 && (
          <Group gap={4}>
            attempt {attempt}, requested {rolloutAt && <TimeAgo at={rolloutAt} />}
            {rolloutBy && (
              <>
                by <ActorName actor={rolloutBy} />
              </>
            )}
          </Group>
        )}
      </Group>
      {buildPlan && <span style={{ overflowWrap: 'anywhere' }}>{buildPlan.sentence}</span>}
    </Stack>
  )
}

function SourceContent({ config }: { config: Revision['sourceRevisionConfig'] }) {
  if (config.imageUri)
    return (
      <Group gap={6} wrap="nowrap" miw={0}>
        <IconPackage size={16} aria-label="Image" style={{ flexShrink: 0 }} />
        <Code style={{ overflowWrap: 'anywhere' }}>{config.imageUri}</Code>
        <Copy text={config.imageUri} what="the image" />
      </Group>
    )
  if (config.repoRef)
    return (
      <Group gap={6} wrap="nowrap">
        <IconGitCommit size={16} aria-label="Commit" />
        <span>{config.repoRef}</span>
        {config.repoCommitSha && (
          <>
            <Code>{config.repoCommitSha.slice(0, 7)}</Code>
            <Copy text={config.repoCommitSha} what="the commit" />
          </>
        )}
      </Group>
    )
  return <span>Uploaded source</span>
}
