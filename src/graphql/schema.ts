/** The whole schema. Each file below types/ adds a type with its queries, mutations or subscription. */
import { builder } from './builder.ts'
import './types/error.ts'
import './types/viewer.ts'
import './types/deployment.ts'
import './types/deployment-list.ts'
import './types/deployment-mutations.ts'
import './types/revision.ts'
import './types/revision-status-changed.ts'
import './types/log.ts'
import './types/listener.ts'
import './types/listener-mutations.ts'
import './types/tracing-project.ts'
import './types/tag.ts'
import './types/git-integration.ts'
import './types/api-key.ts'
import './types/node.ts'

export const schema = builder.toSchema()
