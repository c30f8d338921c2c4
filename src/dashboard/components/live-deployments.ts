/**
 * Live deployment changes (docs/api-rules.md#what-changes-of-deployments): the shell's one subscription writes
 * `LiveDeployment` fields to the cache. Pages use `watchDeployments` to reload the rest, such as a list's members.
 */
import { graphql, type ResultOf } from '../api/graphql.ts'
import { actorFragment } from './actor.ts'

/** The fields of a deployment that lists and page headers show. */
export const liveDeploymentFragment = graphql(
  `
    fragment LiveDeployment on Deployment @_unmask {
      id
      name
      source
      status
      reason
      reasonSince
      statusMessage
      serving
      restarting
      whyNotLive
      health {
        ready
        desired
        draining
        message
        reason
        observedAt
      }
      restartCount
      lastRestart {
        at
        reason
        exitCode
        signal
        message
      }
      url
      nameUrl
      access
      accessUndecided
      imageVersion
      version
      updatedAt
      sourceConfig {
        repoUrl
        listenerId
      }
      lastChange {
        at
        what
        actor {
          ...ActorName
        }
      }
      tags {
        id
        key
        value
      }
      latestRevision {
        ...LiveRevision
      }
      activeRevision {
        ...LiveRevision
      }
    }
  
    fragment LiveRevision on Revision @_unmask {
      id
      number
      status
      statusMessage
      statusSince
      reason
      reasonSince
      attempt
      deployedAt
      sourceRevisionConfig {
        repoRef
        repoCommitSha
        imageUri
      }
    }
  `,
  [actorFragment],
)

export const deploymentsChangedSubscription = graphql(
  `
    subscription DeploymentsChanged($after: String) {
      deploymentsChanged(after: $after) {
        cursor
        deploymentIds
        deployments {
          ...LiveDeployment
        }
      }
    }
  `,
  [liveDeploymentFragment],
)

/**
 * Changed deployments. Ids without a deployment are deleted; no ids at all: everything may be outdated, as after a pause.
 */
export type DeploymentsChange = ResultOf<typeof deploymentsChangedSubscription>['deploymentsChanged']

type Watcher = (change: DeploymentsChange) => void

const watchers = new Set<Watcher>()

/** Returns the function that stops the watch. */
export function watchDeployments(watcher: Watcher): () => void {
  watchers.add(watcher)
  return () => watchers.delete(watcher)
}

/** Call this after the cache has the change. */
export function notifyWatchers(change: DeploymentsChange): void {
  for (const watcher of [...watchers]) watcher(change)
}
