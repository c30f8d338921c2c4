/** Many concurrent writers of one deployment queue up: the time until all are done. */
import { withApp } from './own-app.ts'
import { caller, say, time } from './support.ts'

const WRITERS = 100

export const writers = (): Promise<void> =>
  withApp(async (app, key) => {
    const call = caller(() => app.publicUrl(), key)
    const { id } = await call('POST', '/v2/deployments', {
      name: 'bench-patch',
      source: 'internal_container',
      source_config: {},
      source_revision_config: { image_uri: 'agent:1' },
      secrets: [],
    })
    const patch = () => call('PATCH', `/v2/deployments/${id}`, { source_revision_config: { image_uri: 'agent:2' } })
    await time('a PATCH alone', 20, patch)
    const began = performance.now()
    await Promise.all(Array.from({ length: WRITERS }, patch))
    say(`${WRITERS} concurrent PATCHes of one deployment, all of them`, `${Math.round(performance.now() - began)}`)
  })
