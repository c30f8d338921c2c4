/**
 * Callback of an OAuth provider (docs/oauth.md#rules), by redirect or by a posted form (response_mode=form_post). A browser calls
 * it without a key. The state is the credential and works once. Answers an HTML page.
 */
import type { FastifyError, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { CATALOGUE, DomainError, ValidationError } from '../../../domain/errors/errors.ts'
import { type FinishedAuthorization, finishAuthorization } from '../../../domain/oauth/authorizations/finish.ts'
import { IncompleteGrantError, type LinkOutcome, UsedLinkError } from '../../../domain/oauth/authorizations/outcome.ts'
import type { Core } from '../../../domain/transaction/context.ts'
import type { Log } from '../../../platform/log/log.ts'
import { HTML_PAGE_HEADERS, renderHtmlPage } from '../framework/html-page.ts'

const URL_PATH = '/v2/auth/callback/:provider_id'
const MAX_FORM_BYTES = 64 * 1024

interface Page {
  status: number
  title: string
  text: string
}

const NOT_CONNECTED = 'Nothing was connected'
const RETRY_HINT = 'To try again, begin where you were given the link.'
const RETRY_LATER_HINT = 'To try again later, begin where you were given the link.'
const CLOSE_HINT = 'You can close this page.'

const MAX_NAMED_AGENTS = 3
// en-GB: no comma before the "and"
const LIST_FORMAT = new Intl.ListFormat('en-GB')

/** Title and next action. */
const OUTCOMES: Record<LinkOutcome, { title: string; next: string }> = {
  connected: { title: 'Used already', next: CLOSE_HINT },
  incomplete: {
    title: 'Not everything was granted',
    next: 'Begin again where you were given the link, and allow all that is asked for.',
  },
  failed: { title: NOT_CONNECTED, next: RETRY_HINT },
  unknown: { title: 'Not finished yet', next: 'Reload this page in a minute.' },
}

/** A separate Fastify scope with its own body parser and error handler. */
export const oauthCallback: FastifyPluginAsync<{ core: Core }> = async (fastify, { core }) => {
  fastify.removeAllContentTypeParsers()
  fastify.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: MAX_FORM_BYTES },
    async (_: unknown, body: string) => new URLSearchParams(body),
  )
  fastify.setErrorHandler((error, request, reply) => sendPage(reply, failurePage(error, core.log, request.id)))
  const finish = async (request: FastifyRequest, reply: FastifyReply, parameters: URLSearchParams) => {
    const { provider_id: providerId } = request.params as { provider_id: string }
    return sendPage(reply, successPage(await finishAuthorization(core, { providerId, parameters })))
  }
  fastify.get(URL_PATH, {
    schema: { hide: true },
    config: { keyless: 'unlessSuccessful' },
    // a HEAD request would use the state up
    exposeHeadRoute: false,
    handler: (request, reply) => finish(request, reply, new URLSearchParams(request.url.replace(/^[^?]*\??/, ''))),
  })
  fastify.post(URL_PATH, {
    schema: { hide: true },
    config: { keyless: 'unlessSuccessful' },
    bodyLimit: MAX_FORM_BYTES,
    handler: (request, reply) =>
      finish(request, reply, (request.body as URLSearchParams | undefined) ?? new URLSearchParams()),
  })
}

function sendPage(reply: FastifyReply, { status, title, text }: Page) {
  return reply.code(status).headers(HTML_PAGE_HEADERS).send(renderHtmlPage(title, text))
}

function successPage({ provider, account, workspace, owner, agentId, agents, loss }: FinishedAuthorization): Page {
  const named = account === null ? '' : `“${account}” `
  const users = agentId === null ? connectedAgentsClause(agents) : `the agent “${agentId}” may use it`
  const sentences = [
    `The account ${named}at ${provider} is connected now.`,
    `It is kept for ${owner} in the workspace “${workspace}”, and ${users}.`,
    loss,
    CLOSE_HINT,
  ]
  return { status: 200, title: 'Connected', text: sentences.filter((sentence) => sentence !== null).join(' ') }
}

/** A clause of the success page. `agents`: agents that were already connected. */
function connectedAgentsClause(agents: readonly string[]): string {
  if (agents.length === 0) return 'no agent may use it yet'
  if (agents.length === 1) return `the agent “${agents[0]}” goes on using it`
  const more = agents.length - MAX_NAMED_AGENTS
  const named = agents.slice(0, MAX_NAMED_AGENTS).map((agent) => `“${agent}”`)
  return `the agents ${LIST_FORMAT.format(more > 0 ? [...named, `${more} more`] : named)} go on using it`
}

function failurePage(error: unknown, log: Log, requestId: string): Page {
  if (error instanceof ValidationError)
    return {
      status: error.status,
      title: NOT_CONNECTED,
      text: `This address is not complete, or not one that the provider has made. ${RETRY_HINT}`,
    }
  if (error instanceof DomainError) {
    const { title, next } = OUTCOMES[outcomeOf(error)]
    return {
      status: error.status,
      title,
      text: `${error.message} ${CATALOGUE[error.code].retryable ? RETRY_LATER_HINT : next}`,
    }
  }
  const { code, statusCode = 500 } = error as FastifyError
  // the form can't be read: it is too large, of another type, or shorter than its Content-Length
  if (code?.startsWith('FST_ERR_CTP_') && statusCode < 500)
    return { status: statusCode, title: NOT_CONNECTED, text: `What the provider has sent can’t be read. ${RETRY_HINT}` }
  log.error({ err: error, requestId }, 'request failed')
  const text = `Something went wrong here. ${RETRY_HINT} If it happens again, tell the operator the request id ${requestId}.`
  return { status: 500, title: NOT_CONNECTED, text }
}

function outcomeOf(error: DomainError): LinkOutcome {
  if (error instanceof UsedLinkError) return error.outcome
  return error instanceof IncompleteGrantError ? 'incomplete' : 'failed'
}
