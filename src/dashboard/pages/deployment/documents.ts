/** GraphQL documents of the deployment page. */
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { actionTargetFragment, targetRevisionFragment } from '../../components/action-target.ts'
import { actorFragment } from '../../components/actor.ts'
import { liveDeploymentFragment } from '../../components/live-deployments.ts'

/** Fields that the timeline and the rollout progress show. */
const revisionFragment = graphql(
  `
  fragment TimelineRevision on Revision @_unmask {
    ...ActedRevision
    statusMessage
    reason
    reasonSince
    attempt
    source
    trigger
    isActive
    commitMessage
    commitAuthor
    createdAt
    rolloutAt
    deployedAt
    queuePosition
    createdByActor {
      ...ActorName
    }
    rolloutBy {
      ...ActorName
    }
    supersededBy {
      id
      number
    }
    sourceRevisionConfig {
      repoRef
      repoCommitSha
      imageUri
      sourceTarballPath
    }
    steps {
      kind
      createdAt
      startedAt
      endedAt
      outcome
      tries
      isCurrent
    }
    durations {
      total
    }
  }
`,
  [actorFragment, targetRevisionFragment],
)

export type TimelineRevision = ResultOf<typeof revisionFragment>

export const deploymentQuery = graphql(
  `
  query Deployment($id: ID!) {
    deployment(id: $id) {
      ...LiveDeployment
      ...ActedOn
      secrets {
        name
      }
      listener {
        id
        computeId
        status
      }
      newest: revisions(first: 20) {
        totalCount
        pageInfo {
          hasNextPage
          endCursor
        }
        nodes {
          ...TimelineRevision
        }
      }
      activeRevision {
        ...TimelineRevision
      }
    }
  }
`,
  [liveDeploymentFragment, actionTargetFragment, revisionFragment],
)

export const olderQuery = graphql(
  `
  query OlderRevisions($id: ID!, $after: String) {
    deployment(id: $id) {
      id
      revisions(first: 20, after: $after) {
        pageInfo {
          hasNextPage
          endCursor
        }
        nodes {
          ...TimelineRevision
        }
      }
    }
  }
`,
  [revisionFragment],
)

export type ShownDeployment = NonNullable<ResultOf<typeof deploymentQuery>['deployment']>
