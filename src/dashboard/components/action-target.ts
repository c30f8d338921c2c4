/**
 * Fields of a deployment and a revision that revision-dialogs.tsx needs to describe their effects.
 */
import { graphql, type ResultOf } from '../api/graphql.ts'

export const actionTargetFragment = graphql(`
  fragment ActedOn on Deployment @_unmask {
    id
    name
    version
    status
    serving
    activeRevision {
      id
      number
    }
    waiting: revisions(first: 2, status: [CREATING, QUEUED, AWAITING_BUILD, AWAITING_DEPLOY]) {
      nodes {
        id
        number
      }
    }
  }
`)

export const targetRevisionFragment = graphql(`
  fragment ActedRevision on Revision @_unmask {
    id
    number
    status
    reason
    statusSince
    canRedeploy
    whyNotRedeployable
  }
`)

export type ActionTarget = ResultOf<typeof actionTargetFragment>
export type TargetRevision = ResultOf<typeof targetRevisionFragment>

/** The label of the revision's redeploy button. */
export const redeployVerb = (
  { activeRevision }: Pick<ActionTarget, 'activeRevision'>,
  { number, id }: Pick<TargetRevision, 'number' | 'id'>,
) => (activeRevision && id !== activeRevision.id && number < activeRevision.number ? 'Roll back' : 'Redeploy')
