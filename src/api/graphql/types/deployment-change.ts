/** What somebody did to a deployment last. */
import { camel } from '../../../domain/parsing/naming.ts'
import type { DeploymentChange as Change } from '../../../domain/values/deployment-change.ts'
import { builder } from '../builder/builder.ts'
import { DeploymentChangeKind } from '../builder/enums.ts'
import { Actor } from './event.ts'

export const DeploymentChange = builder.objectRef<Change>('DeploymentChange').implement({
  description: 'What somebody did to a deployment.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime' }),
    what: t.expose('what', { type: DeploymentChangeKind }),
    actor: t.expose('actor', { type: Actor, description: 'Who did it.' }),
    changed: t.stringList({
      description: 'Of an update: the fields that it changed; never their values.',
      resolve: ({ changed }) => changed.map(camel),
    }),
    revisionId: t.id({
      nullable: true,
      description: 'The revision that was rolled out again.',
      resolve: ({ revision }) => revision?.id,
    }),
  }),
})
