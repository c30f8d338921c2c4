/**
 * Callback of an installation at the git provider: the Setup URL of its app (with an OAuth client, also its Callback URL). A
 * browser calls it without a key. The state in the query is the credential and works once.
 */
import type { FastifyInstance } from 'fastify'
import { DomainError, ValidationError } from '../../../domain/errors/errors.ts'
import { finishInstallation } from '../../../domain/sources/integrations/installation.ts'
import type { Core } from '../../../domain/transaction/context.ts'
import type { Log } from '../../../platform/log/log.ts'
import { HTML_PAGE_HEADERS, renderHtmlPage } from '../framework/html-page.ts'

interface Page {
  status: number
  title: string
  text: string
}

const NOT_CONNECTED = 'Nothing was connected'

export function installationCallback(fastify: FastifyInstance, core: Core): void {
  fastify.get('/v1/integrations/gitprovider/setup', {
    schema: { hide: true },
    config: { keyless: 'unlessSuccessful' },
    // a HEAD request would use the state up
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      const aborted = new AbortController()
      reply.raw.once('close', () => {
        if (!reply.raw.writableFinished) aborted.abort()
      })
      const page = await finish(core, request.query as Record<string, unknown>, aborted.signal).catch((error) =>
        failurePage(error, core.log, request.id),
      )
      return reply.code(page.status).headers(HTML_PAGE_HEADERS).send(renderHtmlPage(page.title, page.text))
    },
  })
}

async function finish(core: Core, query: Record<string, unknown>, signal: AbortSignal): Promise<Page> {
  if (query.setup_action === 'request')
    return {
      status: 202,
      title: 'An owner has to approve it',
      text: 'The git provider has asked the owners of the account to install the app. When one of them has, start the installation here again.',
    }
  if (query.error !== undefined)
    return {
      status: 403,
      title: NOT_CONNECTED,
      text: 'The git provider says that this was declined. Start the installation again if that was a mistake.',
    }
  const { name } = await finishInstallation(core, { query }, signal)
  return {
    status: 200,
    title: 'Connected',
    text: `The repositories of ${name} can be deployed now. You can close this page.`,
  }
}

function failurePage(error: unknown, log: Log, requestId: string): Page {
  if (error instanceof ValidationError)
    return {
      status: error.status,
      title: NOT_CONNECTED,
      text: 'This address is not complete. Start the installation again and follow the link that you are given.',
    }
  // the state is used up, so a retry needs a new installation
  if (error instanceof DomainError && error.code === 'GITPROVIDER_UNAVAILABLE')
    return { status: error.status, title: NOT_CONNECTED, text: `${error.message} Start the installation again then.` }
  if (error instanceof DomainError) return { status: error.status, title: NOT_CONNECTED, text: error.message }
  log.error({ err: error, requestId }, 'request failed')
  return {
    status: 500,
    title: NOT_CONNECTED,
    text: `Something went wrong here. Start the installation again; if it happens again, tell the operator the request id ${requestId}.`,
  }
}
