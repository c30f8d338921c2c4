/** Tracing projects: one of the deployment's name is made with every deployment. */
import { builder } from '../builder.ts'

export const TracingProject = builder.prismaObject('TracingProject', {
  description: 'Where the traces of a deployment go. It has the deployment’s name and can outlive it.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
})
