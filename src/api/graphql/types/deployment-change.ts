/** The last change that a caller made to a deployment. */
import { camel } from '../../../domain/parsing/naming.ts'
import type { DeploymentChange as Change } from '../../../domain/values/deployment-change.ts'
import { builder } from '../builder/builder.ts'
import { DeploymentChangeKind } from '../builder/enums.ts'
import { Actor } from './event.ts'

export const DeploymentChange = builder.objectRef<Change>('DeploymentChange').implement({
  description: 'A change that a caller made to a deployment.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime' }),
    what: t.expose('what', { type: DeploymentChangeKind }),
    actor: t.expose('actor', { type: Actor, description: 'Who made the change.' }),
    changed: t.stringList({
      description: 'The fields that an update changed, without their values.',
      resolve: ({ changed }) => changed.map(camel),
    }),
    revisionId: t.id({
      nullable: true,
      description: 'The revision that was redeployed.',
      resolve: ({ revision }) => revision?.id,
    }),
  }),
})
