/** The largest allowed upload over HTTP; the memory figure includes the client. */
import { once } from 'node:events'
import http from 'node:http'
import { pipeline } from 'node:stream/promises'
import { withApp } from './own-app.ts'
import { caller, say } from './support.ts'

export const uploads = (): Promise<void> =>
  withApp(async (app, key) => {
    const call = caller(() => app.publicUrl(), key)
    const { id } = await call('POST', '/v2/deployments', {
      name: 'bench-upload',
      source: 'internal_source',
      source_config: {},
      source_revision_config: { graph_config_path: 'graph.json' },
      secrets: [],
    })
    const { upload_url } = await call('POST', `/v2/deployments/${id}/upload-url`)
    const before = process.memoryUsage.rss()
    let peak = before
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage.rss())
    }, 5)
    const chunk = Buffer.alloc(1_000_000)
    const bytes = (function* () {
      yield Buffer.from([0x1f, 0x8b, 8])
      for (let i = 0; i < 199; i++) yield chunk
    })()
    const began = performance.now()
    const request = http.request(upload_url, { method: 'PUT' })
    const answered = once(request, 'response') as Promise<[http.IncomingMessage]>
    await pipeline(bytes, request)
    const [response] = await answered
    response.resume()
    if (response.statusCode !== 200) throw new Error(`the upload was answered with ${response.statusCode}`)
    clearInterval(watch)
    const mib = (rss: number) => Math.round(rss / 2 ** 20)
    say('an upload of 200 MB', `${Math.round(performance.now() - began)}`)
    say('memory (RSS) before it, and at most while it lasts', `${mib(before)} MiB  ${mib(peak)} MiB`)
  })
