/**
 * Types of the REST API, written by `npm run schema` from the OpenAPI document. Don't edit this file; `npm run check` compares it
 * with the code. It has only successful answers, because the client throws errors (see ErrorCode).
 */

export interface paths {
    "/v2/deployments/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the deployments that have changed
         * @description A change is anything that a deployment shows: fields, tags, revisions, health, or the reason why it waits. It may also follow from the passing of time alone. Several changes of one deployment are listed once.
         *
         *     With `Accept: text/event-stream`: each event lists up to 100 deployments that have changed, within a second of the change. Without `after` the first event lists none; no later change is missed. The `id` of each server-sent event is its cursor. Pass it as `after`, or in the header `Last-Event-ID`, to continue after that event. A failed stream ends with an event `error` that has `detail`, `code` and the `cursor` to continue from. A finished stream ends with an event `complete`. A comment is sent at least every 15 seconds, unless the server is overloaded.
         */
        get: operations["listDeploymentChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/deployments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List deployments, newest first */
        get: operations["listDeployments"];
        put?: never;
        /** Create a deployment with its first revision */
        post: operations["createDeployment"];
        /** Delete up to 100 deployments */
        delete: operations["deleteDeployments"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/deployments/{deployment_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a deployment */
        get: operations["getDeployment"];
        put?: never;
        post?: never;
        /**
         * Delete a deployment
         * @description The name is free immediately. The deployment can be read, with status AWAITING_DELETE, until it is torn down. A repeated call answers 204 for any `If-Match`, because nothing is left to do.
         */
        delete: operations["deleteDeployment"];
        options?: never;
        head?: never;
        /**
         * Update a deployment
         * @description An absent or null member keeps the stored value. A non-null `repo_ref`, `graph_config_path`, `image_uri`, `source_tarball_path` or `secrets` creates a new revision. If only secrets change, the new revision keeps the source, commit and build of a base revision: the newest rollout in progress, or else the active revision, or else the latest.
         */
        patch: operations["updateDeployment"];
        trace?: never;
    };
    "/v2/deployments/{deployment_id}/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the names of the secrets of a deployment, when each was set, and by whom */
        get: operations["listSecrets"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Set and unset secrets of a deployment by their names
         * @description Other secrets are not changed, so concurrent changes of them are kept. One call creates one revision. It keeps the source and build of the base revision, as a PATCH of `secrets` alone does. A call with nothing to set or unset does nothing.
         */
        patch: operations["setSecrets"];
        trace?: never;
    };
    "/v2/deployments/{deployment_id}/secrets/{name}/reveal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reveal the value of one secret
         * @description Needs `secrets:read`. A session can read values only with this call. Each call adds the event `secret.revealed` with the name of the secret and its reader. More calls in a minute than `REVEALS_PER_MINUTE` are answered 429.
         */
        post: operations["revealSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/deployments/{deployment_id}/revisions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List a deployment's revisions, newest first */
        get: operations["listRevisions"];
        put?: never;
        /**
         * Create a revision
         * @description Takes the same body as the update of a deployment, and always creates a revision. If the body names no part of the source, the new revision uses the source that runs, as an update of secrets does. `If-Match` takes the `ETag` of the deployment.
         */
        post: operations["createRevision"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/deployments/{deployment_id}/revisions/{revision_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a revision */
        get: operations["getRevision"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/deployments/{deployment_id}/revisions/{revision_id}/details": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the details of a revision
         * @description The details are the steps of the revision, its position in the queue, whether it can be redeployed, and what it runs with.
         */
        get: operations["getRevisionDetails"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/deployments/{deployment_id}/compare": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Compare two revisions of a deployment */
        get: operations["compareRevisions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Redeploy a revision
         * @description The revision becomes the active one if the rollout succeeds. Use it for a rollback. `If-Match` takes the `ETag` of the deployment.
         */
        post: operations["redeployRevision"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/deployments/{deployment_id}/revisions/{revision_id}/interrupt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stop a revision that is in progress */
        post: operations["interruptRevision"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/deployments/{deployment_id}/revisions/{revision_id}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read or follow the log of a build or of the running agent
         * @description With `Accept: text/event-stream`: the stream has an event `line` for each line. It ends when the build has ended (`type=build`) or the deployment is deleted (`type=deploy`). Send `follow=true` too. The `id` of each server-sent event is its cursor. Pass it as `offset`, or in the header `Last-Event-ID`, to continue after that event. A failed stream ends with an event `error` that has `detail`, `code` and the `cursor` to continue from. A finished stream ends with an event `complete`. A comment is sent at least every 15 seconds, unless the server is overloaded.
         */
        get: operations["readLogs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/deployments/{deployment_id}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read or follow the log of all builds or all agents of a deployment
         * @description The log has the lines of all revisions in the order of their arrival. Each line has its revision and attempt.
         *
         *     With `Accept: text/event-stream`: the stream has an event `line` for each line. It ends when the deployment is deleted. Send `follow=true` too. The `id` of each server-sent event is its cursor. Pass it as `offset`, or in the header `Last-Event-ID`, to continue after that event. A failed stream ends with an event `error` that has `detail`, `code` and the `cursor` to continue from. A finished stream ends with an event `complete`. A comment is sent at least every 15 seconds, unless the server is overloaded.
         */
        get: operations["readDeploymentLogs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the events of the workspace
         * @description With `Accept: text/event-stream`: the stream has every event from now on. The `id` of each server-sent event is its cursor. Pass it as `after`, or in the header `Last-Event-ID`, to continue after that event. A failed stream ends with an event `error` that has `detail`, `code` and the `cursor` to continue from. A finished stream ends with an event `complete`. A comment is sent at least every 15 seconds, unless the server is overloaded.
         */
        get: operations["listEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/deployments/{deployment_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the events of a deployment and its revisions
         * @description Events of a torn-down deployment can be read as long as events are kept.
         *
         *     With `Accept: text/event-stream`: the stream has every event from now on and ends when the deployment is torn down. The `id` of each server-sent event is its cursor. Pass it as `after`, or in the header `Last-Event-ID`, to continue after that event. A failed stream ends with an event `error` that has `detail`, `code` and the `cursor` to continue from. A finished stream ends with an event `complete`. A comment is sent at least every 15 seconds, unless the server is overloaded.
         */
        get: operations["listDeploymentEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/deployments/{deployment_id}/revisions/{revision_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the events of a revision
         * @description With `Accept: text/event-stream`: the stream begins with the current status, without an `actor`. Each later status follows. It ends with a final status. The `id` of each server-sent event is its cursor. Pass it as `after`, or in the header `Last-Event-ID`, to continue after that event. A failed stream ends with an event `error` that has `detail`, `code` and the `cursor` to continue from. A finished stream ends with an event `complete`. A comment is sent at least every 15 seconds, unless the server is overloaded.
         */
        get: operations["listRevisionEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/deployments/{deployment_id}/upload-url": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get a URL for the upload of a source tarball
         * @description PUT a gzip tarball of at most 200 MB to `upload_url`. Then PATCH the deployment with `object_path` as its `source_tarball_path`. Only for `internal_source` deployments.
         */
        post: operations["createUploadUrl"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/deployments/{deployment_id}/upload-url": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get a URL for the upload of a source tarball
         * @description PUT a gzip tarball of at most 200 MB to `upload_url`. Then PATCH the deployment with `object_path` as its `source_tarball_path`. Only for `internal_source` deployments.
         */
        post: operations["createUploadUrlUnversioned"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/deployments/{deployment_id}/push-token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a token to push images of a deployment
         * @description Only for `internal_container` deployments, if a registry is configured. The token is valid for 15 minutes, for the repository of the deployment and the repositories below it. Run `docker login HOST -u token -p TOKEN`, push to `registry_url:tag` or `registry_url/name:tag`, then PATCH `image_uri`.
         */
        post: operations["createPushToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/listeners": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List listeners, newest first */
        get: operations["listListeners"];
        put?: never;
        /**
         * Register a listener
         * @description Available to organizations with a self-hosted enterprise plan. The listener program needs an API key of the role `listener` that was made for this listener.
         */
        post: operations["createListener"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/listeners/{listener_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a listener */
        get: operations["getListener"];
        put?: never;
        post?: never;
        /**
         * Delete a listener
         * @description The call is refused while a deployment that is not torn down uses the listener. The API keys of the listener are revoked.
         */
        delete: operations["deleteListener"];
        options?: never;
        head?: never;
        /**
         * Update a listener
         * @description An absent or null member keeps the stored value. A namespace that contains a deployment can’t be removed.
         */
        patch: operations["updateListener"];
        trace?: never;
    };
    "/v1/integrations/gitprovider/install": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the git integrations of the workspace */
        get: operations["listIntegrations"];
        put?: never;
        /**
         * Start the installation of the app at the git provider
         * @description Send the owner of the account to `install_url`. The integration is listed when the owner has returned to this server.
         */
        post: operations["startInstallation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/integrations/gitprovider/{integration_id}/repos": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the repositories of a git integration */
        get: operations["listRepositories"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/integrations/forge/gitprovider/install": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the git integrations of the workspace */
        get: operations["listIntegrationsOfForge"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/integrations/forge/gitprovider/{integration_id}/repos": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the repositories of a git integration */
        get: operations["listRepositoriesOfForge"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/integrations/gitprovider/{integration_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a git integration
         * @description Its deployments continue to run, but can’t be built any more; `status_message` says so. The app stays installed at the git provider.
         */
        delete: operations["removeIntegration"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/auth/providers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the organization’s OAuth providers, newest first */
        get: operations["listOAuthProviders"];
        put?: never;
        /**
         * Create an OAuth provider
         * @description The provider belongs to the whole organization. First register a client at the provider, with the redirect URI `<this server>/v2/auth/callback/<provider_id>`.
         */
        post: operations["createOAuthProvider"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/auth/providers/{provider_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an OAuth provider */
        get: operations["getOAuthProvider"];
        put?: never;
        post?: never;
        /**
         * Delete an OAuth provider
         * @description The call is refused while the provider has tokens, unless you send `force`. Pending authorizations end.
         */
        delete: operations["deleteOAuthProvider"];
        options?: never;
        head?: never;
        /**
         * Update an OAuth provider
         * @description An absent or null member keeps the stored value. If you change `token_url` to another origin, send the `client_secret` again, if there is one; existing tokens are not refreshed any more. The method `none` deletes the stored secret.
         */
        patch: operations["updateOAuthProvider"];
        trace?: never;
    };
    "/v2/auth/providers/mcp-discover": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create an OAuth provider from an MCP server
         * @description Finds the authorization server of the MCP server and registers a client there (RFC 9728, 8414, 7591). The result is a provider like any other. If the authorization server does not allow the registration of clients, create the provider with your own client.
         */
        post: operations["discoverMcpProvider"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/auth/authenticate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get a token for a person’s account, or the page where the person authorizes it
         * @description Answers immediately. Unless the status is `completed`, the person opens `url` once, within 15 minutes. GET /v2/auth/wait/{auth_id} answers when the person has returned. With `connection_required` you can connect the agent to the existing token instead.
         */
        post: operations["authenticate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/auth/wait/{auth_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Wait until the person has returned
         * @description Answers when the authorization is `completed`, or `pending` when the wait ends. It answers 409 with the reason if the authorization failed: the person declined, the provider refused, or the time ran out. Only the caller that started the authorization and the user who gets the token may call it.
         */
        get: operations["waitForAuthorization"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/auth/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List your OAuth tokens, newest first
         * @description Lists the tokens of the caller in this workspace. Other callers can’t see them. The tokens themselves are not shown.
         */
        get: operations["listOAuthTokens"];
        put?: never;
        post?: never;
        /**
         * Delete all OAuth tokens of a user or of a key
         * @description For admins, after a user has left or a key was revoked. Admins can’t see these tokens. Their connections are deleted too, and each token is revoked at its provider.
         */
        delete: operations["deleteOAuthTokensOfUser"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/auth/tokens/{token_id}/metadata": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Label an OAuth token, or make it the default
         * @description An absent or null member keeps the stored value.
         */
        patch: operations["updateOAuthTokenMetadata"];
        trace?: never;
    };
    "/v2/auth/tokens/{token_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete an OAuth token
         * @description Also deletes its connections, so no agent gets the token any more. The token is revoked at the provider if the provider supports it. While the provider can’t be reached, the revocation is retried for a day.
         */
        delete: operations["deleteOAuthToken"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/auth/agents/{agent_id}/connections": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List an agent’s connections to your tokens, newest first
         * @description You see only connections to your own tokens.
         */
        get: operations["listConnections"];
        put?: never;
        /**
         * Connect an agent to one of your tokens
         * @description The agent can then get access tokens from this token, with an API key of the role `agent`. A repeated call answers the existing connection.
         */
        post: operations["createConnection"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/auth/agents/{agent_id}/connections/{connection_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete a connection
         * @description The agent gets no more access tokens through it. The token remains.
         */
        delete: operations["deleteConnection"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/auth/agents/{agent_id}/providers/{provider_id}/access-token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get an access token
         * @description Needs the key of this agent (role `agent`). The token must be connected to the agent and cover the scopes. If one person has several such tokens, the default one is used, or else the oldest. An access token that has expired or will expire soon is refreshed first. 409 with code `CONNECTION_REQUIRED`: no connected token covers the scopes. `TOKEN_EXPIRED`: the owner has to authenticate again. `CONFLICT`: the agent is connected to tokens of several people, so send `user_id`.
         */
        post: operations["issueAccessToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List sessions, newest first
         * @description Lists your own sessions. Admins see all sessions that are valid for the workspace. Ended sessions are listed for one more day.
         */
        get: operations["listSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/sessions/{session_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * End a session
         * @description Open calls and streams of the session end too. A repeated call changes nothing.
         */
        delete: operations["revokeSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/workspaces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a workspace
         * @description The workspace belongs to the organization of the caller. Needs the role `admin` and a credential of the whole organization, because a credential of one workspace could not act in the new one.
         */
        post: operations["createWorkspace"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        AccessToken: {
            access_token: string;
            token_type: string;
            /** @description When the access token expires. Get a new one then. It is null if the provider does not say. */
            expires_at: string | null;
            /** @description The scopes of the token. They include the requested scopes. */
            scopes: string[];
            /** Format: uuid */
            connection_id: string;
            provider_account_label: string | null;
        };
        Actor: {
            /**
             * @description - `api_key`: A caller with an API key. `name` is the name of the key at that time.
             *     - `person`: A person with a JWT. `id` and `name` are its `sub`.
             *     - `listener`: A listener in the compute infrastructure of a customer. `name` is its `compute_id`.
             *     - `worker`: The built-in worker of the server.
             *     - `git_provider`: The git provider, through its webhook: a push, or a changed installation.
             *     - `command_line`: A person who runs commands on the machine of the server.
             *     - `system`: The server itself, because of a rule or the time.
             * @enum {string}
             */
            kind: "api_key" | "person" | "listener" | "worker" | "git_provider" | "command_line" | "system";
            /** @description The name of the actor at the time of the action. */
            name: string | null;
            /** @description The id of the key or of the listener, or the `sub` of the person. */
            id: string | null;
        };
        AuthenticateInput: {
            /** @description The `provider_id` of the provider, or the id of its row. */
            provider: string;
            /** @description The scopes that the token must have. */
            scopes: string[];
            /** @description The agent that will use the token. It is connected when the person returns from the provider. */
            agent_id?: string | null;
            /** @description The owner of the token. Default: the subject of the call. Only admins may name another person. */
            user_id?: string | null;
            /** @description Starts a new authorization even if a token matches, for example for another account. */
            force_new?: boolean | null;
        };
        Authorization: {
            /**
             * @description completed: the token exists, and the named agent, if any, may use it. pending: the person has to open `url`. connection_required: a token exists, but the agent is not connected to it. token_expired: the token has expired and can’t be refreshed.
             * @enum {string}
             */
            status: "completed" | "pending" | "connection_required" | "token_expired";
            /** @description The page that the person opens, once, within 15 minutes. It is null when the status is `completed`, and in answers to a wait: it is not stored, so only `authenticate` returns it. */
            url: string | null;
            /** @description The id for GET /v2/auth/wait/{auth_id}; null if there is nothing to wait for. */
            auth_id: string | null;
            /** @description The id of the token, if it exists. */
            oauth_token_id: string | null;
        };
        BulkDeletion: {
            results: {
                /** Format: uuid */
                deployment_id: string;
                /** @description The status that a DELETE of this deployment alone would have answered. */
                status: number;
                /** @description Why the deletion failed; null if it succeeded. */
                detail: string | null;
            }[];
        };
        Connection: {
            /** Format: uuid */
            id: string;
            agent_id: string;
            /** Format: uuid */
            oauth_token_id: string;
            provider_id: string;
            provider_account_label: string | null;
            scopes: string[];
            /** @description When the token expires. It is refreshed automatically if the provider allows it. */
            expires_at: string | null;
            created_by: string;
            /** Format: date-time */
            created_at: string;
        };
        ConnectionList: {
            data: components["schemas"]["Connection"][];
        };
        CreateConnectionInput: {
            /**
             * Format: uuid
             * @description The id of one of your own tokens.
             */
            oauth_token_id: string;
        };
        DeletedOAuthTokens: {
            /** @description The number of deleted tokens. */
            deleted: number;
        };
        Deployment: {
            /** Format: uuid */
            id: string;
            /**
             * Format: uuid
             * @description The workspace that owns the deployment.
             */
            tenant_id: string;
            name: string;
            /** @enum {string} */
            source: "gitprovider" | "external_container" | "internal_container" | "internal_source";
            source_config: components["schemas"]["SourceConfig"];
            /** @description The configuration of the latest revision. */
            source_revision_config: components["schemas"]["SourceRevisionConfig"];
            /** @description Values are masked for callers who may not read secrets. */
            secrets: components["schemas"]["Secret"][];
            secret_references: components["schemas"]["SecretReference"][] | null;
            /** @enum {string} */
            status: "AWAITING_DATABASE" | "READY" | "UNUSED" | "AWAITING_DELETE" | "UNKNOWN";
            /** @description Whether the deployment serves requests now, according to the lease holder. */
            serving: boolean;
            /** @description Why the deployment does not serve, what its teardown waits for, why the teardown failed, or that its git integration was removed. */
            status_message: string | null;
            /** @description The same as a machine-readable code. */
            reason: ("WAITING_FOR_WORKER" | "WAITING_FOR_LISTENER" | "LISTENER_SILENT" | "WAITING_FOR_BUILDER" | "BUILDER_SILENT" | "WAITING_FOR_IMAGE" | "WAITING_FOR_TARBALL" | "QUEUED_BEHIND" | "WAITING_FOR_TURN" | "SERVER_OVERLOADED" | "IN_PROGRESS" | "PULLING_IMAGE" | "WAITING_FOR_HEALTH" | "ROLLING_OUT" | "ROLLOUT_PAUSED" | "CHANGED_BY_OTHERS" | "NO_RUNTIME" | "NO_BUILDER" | "CONFIG_INVALID" | "CLONE_FAILED" | "INTEGRATION_UNAVAILABLE" | "TARBALL_UNAVAILABLE" | "TARBALL_INVALID" | "TOOL_MISSING" | "SECRET_MISSING" | "CONTENT_MISSING" | "ARTIFACT_LOST" | "INSTALL_FAILED" | "BUILD_COMMAND_FAILED" | "HEALTH_CHECK_TIMED_OUT" | "CRASHED" | "OUT_OF_MEMORY" | "PROCESS_LIMIT" | "FILE_LIMIT" | "DISK_LIMIT" | "DATABASE_LIMIT" | "IMAGE_PULL_FAILED" | "CONTAINER_START_FAILED" | "UNSCHEDULABLE" | "QUOTA_EXCEEDED" | "STORAGE_UNAVAILABLE" | "DATABASE_UNAVAILABLE" | "CLUSTER_UNREACHABLE" | "CLUSTER_REFUSED" | "NO_ENDPOINTS" | "PORT_IN_USE" | "NO_SPACE" | "DEADLINE" | "WORKER_LOST" | "NOBODY_TOOK_IT" | "SUPERSEDED" | "INTERRUPTED_BY_PERSON" | "DEPLOYMENT_DELETED" | "PROVISION_FAILED" | "BUILD_FAILED" | "DEPLOY_FAILED" | "TEARDOWN_FAILED" | "NOT_READY" | "NOT_OBSERVED" | "INTERNAL") | null;
            /** @description Since when the reason applies; null if unknown. */
            reason_since: string | null;
            /** @description One sentence that says why the latest requested revision does not serve; null if it serves. */
            why_not_live: string | null;
            /** @description The last change that a caller made, at `updated_at`. It is null if a server version without this field made the last change. */
            last_change: components["schemas"]["DeploymentChange"] | null;
            /** @description It is null only while the deployment is being deleted. */
            health: components["schemas"]["DeploymentHealth"] | null;
            /** @description The address of the deployment: its custom_url, else the address that its data plane reported with the last deploy. That address may be inside the cluster. Null before the first deploy. */
            url: string | null;
            image_version: string | null;
            latest_revision_id: string | null;
            /** @description The revision that serves. */
            active_revision_id: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        DeploymentChange: {
            /** Format: date-time */
            at: string;
            /**
             * @description - `CREATED`: The deployment was created.
             *     - `UPDATED`: The deployment was changed. `changed` names the fields; if it is empty, a new revision was created.
             *     - `TAGGED`: The tags of the deployment changed.
             *     - `PUSHED`: A pushed commit created a new revision.
             *     - `REDEPLOYED`: A revision was rolled out again. A rollback is one, too.
             *     - `DELETED`: The deletion of the deployment was requested.
             * @enum {string}
             */
            what: "CREATED" | "UPDATED" | "TAGGED" | "PUSHED" | "REDEPLOYED" | "DELETED";
            /** @description Who made the change. */
            actor: components["schemas"]["Actor"];
            /** @description The fields that an update changed, without their values. */
            changed: string[];
            /** @description The revision that was redeployed. */
            revision_id: string | null;
        };
        DeploymentCreateInput: {
            name: string;
            /** @enum {string} */
            source: "gitprovider" | "external_container" | "internal_container" | "internal_source";
            source_config: components["schemas"]["SourceConfigInput"];
            source_revision_config: components["schemas"]["SourceRevisionConfigInput"];
            secrets: components["schemas"]["SecretInput"][];
            secret_references?: components["schemas"]["SecretReferenceInput"][] | null;
        };
        DeploymentHealth: {
            /** @description Replicas that serve, according to the last report. */
            ready: number;
            /** @description Replicas that should serve. */
            desired: number;
            /** @description Why some replicas do not serve. */
            message: string | null;
            reason: ("WAITING_FOR_WORKER" | "WAITING_FOR_LISTENER" | "LISTENER_SILENT" | "WAITING_FOR_BUILDER" | "BUILDER_SILENT" | "WAITING_FOR_IMAGE" | "WAITING_FOR_TARBALL" | "QUEUED_BEHIND" | "WAITING_FOR_TURN" | "SERVER_OVERLOADED" | "IN_PROGRESS" | "PULLING_IMAGE" | "WAITING_FOR_HEALTH" | "ROLLING_OUT" | "ROLLOUT_PAUSED" | "CHANGED_BY_OTHERS" | "NO_RUNTIME" | "NO_BUILDER" | "CONFIG_INVALID" | "CLONE_FAILED" | "INTEGRATION_UNAVAILABLE" | "TARBALL_UNAVAILABLE" | "TARBALL_INVALID" | "TOOL_MISSING" | "SECRET_MISSING" | "CONTENT_MISSING" | "ARTIFACT_LOST" | "INSTALL_FAILED" | "BUILD_COMMAND_FAILED" | "HEALTH_CHECK_TIMED_OUT" | "CRASHED" | "OUT_OF_MEMORY" | "PROCESS_LIMIT" | "FILE_LIMIT" | "DISK_LIMIT" | "DATABASE_LIMIT" | "IMAGE_PULL_FAILED" | "CONTAINER_START_FAILED" | "UNSCHEDULABLE" | "QUOTA_EXCEEDED" | "STORAGE_UNAVAILABLE" | "DATABASE_UNAVAILABLE" | "CLUSTER_UNREACHABLE" | "CLUSTER_REFUSED" | "NO_ENDPOINTS" | "PORT_IN_USE" | "NO_SPACE" | "DEADLINE" | "WORKER_LOST" | "NOBODY_TOOK_IT" | "SUPERSEDED" | "INTERRUPTED_BY_PERSON" | "DEPLOYMENT_DELETED" | "PROVISION_FAILED" | "BUILD_FAILED" | "DEPLOY_FAILED" | "TEARDOWN_FAILED" | "NOT_READY" | "NOT_OBSERVED" | "INTERNAL") | null;
            /** @description When this health was first reported; null if there was no report yet. */
            observed_at: string | null;
        };
        DeploymentList: {
            resources: components["schemas"]["Deployment"][];
            /** @description The offset that fetches the next page. */
            offset: number;
        };
        DeploymentUpdateInput: {
            name?: string | null;
            source?: ("gitprovider" | "external_container" | "internal_container" | "internal_source") | null;
            source_config?: components["schemas"]["SourceConfigInput"] | null;
            source_revision_config?: components["schemas"]["SourceRevisionConfigInput"] | null;
            secrets?: components["schemas"]["SecretInput"][] | null;
            secret_references?: components["schemas"]["SecretReferenceInput"][] | null;
        };
        DeploymentsChange: {
            /** @description Pass it as `after` to continue. In a stream it is the `id` of the event. */
            cursor: string;
            /** @description The changed deployments, each listed once. A deployment that answers 404 is deleted. The list is empty if nothing has changed, and in the first answer to a call without `after`. */
            deployment_ids: string[];
        };
        Error: {
            /** @description A message for people. */
            detail: string;
            /** @description A stable machine-readable code. */
            code: string;
            /** @description The id of the request. It is also in the header `X-Request-Id` and in the server's log. */
            request_id: string;
        };
        Event: {
            /** @description The position of the event in the log. Pass it as `after` or `before`. In a stream it is the `id` of the event. */
            cursor: string;
            /**
             * @description The type of the event. New types may be added.
             *     - `revision.status`: The status of a revision changed. The first status has no `from`.
             *     - `deployment.created`: A deployment was created.
             *     - `deployment.updated`: A deployment was changed. `changed` names the fields; if it is empty, a new revision was created.
             *     - `deployment.tagged`: The tags of a deployment changed.
             *     - `deployment.provisioned`: The resources that a deployment needs in its runtime exist.
             *     - `deployment.deleted`: The deletion of a deployment was requested.
             *     - `deployment.torn_down`: The resources of a deployment in its runtime were removed. This is its last event.
             *     - `secret.revealed`: A caller read the value of a secret. The subject is the name of the secret.
             *     - `tag.created`: A tag was created.
             *     - `listener.created`: A listener was registered.
             *     - `listener.updated`: A listener was changed. `changed` names the fields.
             *     - `listener.deleted`: A listener was deleted.
             *     - `listener.silent`: A listener has not called for 90 seconds. Its last reports no longer count.
             *     - `listener.heard`: A silent listener called again.
             *     - `api_key.created`: An API key was created.
             *     - `api_key.updated`: The owner of an API key changed. `changed` names the fields.
             *     - `api_key.revoked`: An API key was revoked.
             *     - `session.created`: A person signed in, which created a session.
             *     - `session.revoked`: A session was revoked before it expired.
             *     - `workspace.created`: The workspace was created. This is the first event of its log.
             *     - `tracing_project.created`: A tracing project was created.
             *     - `tracing_project.deleted`: A tracing project was deleted.
             *     - `integration.created`: A git integration was created or restored.
             *     - `integration.updated`: A git integration was changed. `changed` names the fields.
             *     - `integration.suspended`: A git integration was suspended at the git provider.
             *     - `integration.unsuspended`: A git integration is no longer suspended.
             *     - `integration.removed`: A git integration was removed here or at the git provider.
             *     - `oauth_provider.created`: An OAuth provider was created.
             *     - `oauth_provider.updated`: An OAuth provider was changed. `changed` names the fields.
             *     - `oauth_provider.deleted`: An OAuth provider was deleted.
             *     - `oauth_token.created`: A person gave consent, which created a token.
             *     - `oauth_token.updated`: The owner renewed or changed a token. `changed` names the changed fields.
             *     - `oauth_token.expired`: A token expired. Only its owner can renew it.
             *     - `oauth_token.deleted`: A token was deleted.
             *     - `connection.created`: An agent was connected to a token.
             *     - `connection.deleted`: An agent was disconnected from a token.
             */
            type: string;
            deployment_id: string | null;
            revision_id: string | null;
            /** @description The id of the changed resource if it is neither a deployment nor a revision. */
            subject_id: string | null;
            /** @description The previous status of a status change. It is null for the first status. */
            from: ("CREATING" | "QUEUED" | "AWAITING_BUILD" | "BUILDING" | "AWAITING_DEPLOY" | "DEPLOYING" | "DEPLOYED" | "CREATE_FAILED" | "BUILD_FAILED" | "DEPLOY_FAILED" | "SKIPPED" | "INTERRUPTED" | "UNKNOWN") | null;
            to: ("CREATING" | "QUEUED" | "AWAITING_BUILD" | "BUILDING" | "AWAITING_DEPLOY" | "DEPLOYING" | "DEPLOYED" | "CREATE_FAILED" | "BUILD_FAILED" | "DEPLOY_FAILED" | "SKIPPED" | "INTERRUPTED" | "UNKNOWN") | null;
            /** @description The reason for the status, as a machine-readable code. */
            reason: ("WAITING_FOR_WORKER" | "WAITING_FOR_LISTENER" | "LISTENER_SILENT" | "WAITING_FOR_BUILDER" | "BUILDER_SILENT" | "WAITING_FOR_IMAGE" | "WAITING_FOR_TARBALL" | "QUEUED_BEHIND" | "WAITING_FOR_TURN" | "SERVER_OVERLOADED" | "IN_PROGRESS" | "PULLING_IMAGE" | "WAITING_FOR_HEALTH" | "ROLLING_OUT" | "ROLLOUT_PAUSED" | "CHANGED_BY_OTHERS" | "NO_RUNTIME" | "NO_BUILDER" | "CONFIG_INVALID" | "CLONE_FAILED" | "INTEGRATION_UNAVAILABLE" | "TARBALL_UNAVAILABLE" | "TARBALL_INVALID" | "TOOL_MISSING" | "SECRET_MISSING" | "CONTENT_MISSING" | "ARTIFACT_LOST" | "INSTALL_FAILED" | "BUILD_COMMAND_FAILED" | "HEALTH_CHECK_TIMED_OUT" | "CRASHED" | "OUT_OF_MEMORY" | "PROCESS_LIMIT" | "FILE_LIMIT" | "DISK_LIMIT" | "DATABASE_LIMIT" | "IMAGE_PULL_FAILED" | "CONTAINER_START_FAILED" | "UNSCHEDULABLE" | "QUOTA_EXCEEDED" | "STORAGE_UNAVAILABLE" | "DATABASE_UNAVAILABLE" | "CLUSTER_UNREACHABLE" | "CLUSTER_REFUSED" | "NO_ENDPOINTS" | "PORT_IN_USE" | "NO_SPACE" | "DEADLINE" | "WORKER_LOST" | "NOBODY_TOOK_IT" | "SUPERSEDED" | "INTERRUPTED_BY_PERSON" | "DEPLOYMENT_DELETED" | "PROVISION_FAILED" | "BUILD_FAILED" | "DEPLOY_FAILED" | "TEARDOWN_FAILED" | "NOT_READY" | "NOT_OBSERVED" | "INTERNAL") | null;
            /** @description The reason as a message for people. */
            message: string | null;
            /** @description The attempt of the revision. */
            attempt: number | null;
            /** @description The fields that an update changed, without their values. */
            changed: string[];
            /** @description The actor of the event. It is null only for the current status at the start of a stream. */
            actor: components["schemas"]["Actor"] | null;
            /** Format: date-time */
            occurred_at: string;
        };
        EventPage: {
            resources: components["schemas"]["Event"][];
            /** @description With `order=asc` pass it as `after`. It is never null: at the end of the log it is the position of the next events. With `order=desc` pass it as `before`. It is null at the beginning of the log. */
            next_cursor: string | null;
        };
        Installation: {
            /** @description The page of the git provider where a person installs the app. It returns to this server. */
            install_url: string;
            /**
             * Format: date-time
             * @description The installation must be finished before this time.
             */
            expires_at: string;
        };
        Integration: {
            /**
             * Format: uuid
             * @description Use it as `source_config.integration_id`.
             */
            id: string;
            /** @description The git provider's id of the installation, if it has one. */
            installation_id: string | null;
            name: string;
        };
        IssueAccessTokenInput: {
            /** @description The scopes that the token must have at least. */
            scopes: string[];
            /** @description The owner of the token. Required if the agent is connected to tokens of several people. */
            user_id?: string | null;
        };
        Listener: {
            /**
             * Format: uuid
             * @description Use it as `source_config.listener_id`.
             */
            id: string;
            /** @enum {string} */
            compute_type: "k8s";
            compute_id: string;
            compute_config: components["schemas"]["ListenerComputeConfig"];
            /** @description The version that the listener program last reported. */
            version: string | null;
            /** @description The values that `resource_spec.class` of its deployments may have, according to its last report. */
            pod_classes: string[];
            /**
             * @description OFFLINE: the listener has never called, or has not called for 90 seconds.
             * @enum {string}
             */
            status: "ONLINE" | "OFFLINE";
            /** @description The time of its last call; null if it has never called. */
            last_seen_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        ListenerComputeConfig: {
            /** @description The namespaces that deployments may use. Without one the listener can have no deployments. */
            k8s_namespaces?: string[] | null;
        };
        ListenerComputeConfigInput: {
            /** @description The namespaces that deployments may use. Without one the listener can have no deployments. */
            k8s_namespaces?: string[] | null;
        };
        ListenerConfig: {
            k8s_namespace?: string | null;
        };
        ListenerConfigInput: {
            k8s_namespace?: string | null;
        };
        ListenerCreateInput: {
            /**
             * @description The kind of compute infrastructure. It cannot be changed.
             * @enum {string}
             */
            compute_type: "k8s";
            /** @description An identifier that you choose, for example the name of the cluster. It is unique in the workspace and cannot be changed. */
            compute_id: string;
            compute_config: components["schemas"]["ListenerComputeConfigInput"];
            /** @description The version of the listener program. */
            version?: string | null;
        };
        ListenerList: {
            resources: components["schemas"]["Listener"][];
            /** @description The offset that fetches the next page. */
            offset: number;
        };
        ListenerUpdateInput: {
            compute_type?: "k8s" | null;
            compute_id?: string | null;
            compute_config?: components["schemas"]["ListenerComputeConfigInput"] | null;
            /** @description The version of the listener program. */
            version?: string | null;
        };
        LogPage: {
            logs: {
                /** @description The permanent id of the line. Within a deployment the ids sort, as text, like the lines. */
                id: string;
                /** Format: uuid */
                revision_id: string;
                /** Format: date-time */
                timestamp: string;
                /** @enum {string} */
                level: "debug" | "info" | "warning" | "error" | "critical";
                message: string;
                /** @description `message` with its colours as SGR sequences, for terminals; null if it has no colours. */
                ansi: string | null;
                /** @description The attempt of the revision. */
                attempt: number;
            }[];
            /** @description Pass it as `offset` to continue. With `order=asc` it is the position after the last line of this page, and null if the page is empty. To follow a log, keep the last offset that was not null and repeat the call. With `order=desc` it is null at the beginning of the log. With `last` it is the position after the newest line. */
            next_offset: string | null;
        };
        McpDiscoveryInput: {
            /** @description The name of the provider in every other call. You choose it, and it cannot be changed. */
            provider_id: string;
            /** @description The name that people see. */
            name: string;
            /** @description The URL of the MCP endpoint: https, or http on the machine of the server. */
            mcp_server_url: string;
        };
        NameDifferences: {
            added: string[];
            removed: string[];
            /** @description The names that are in both revisions with different values. */
            changed: string[];
        };
        NamedSecret: {
            name: string;
            /** @description When the value was set; null if an older server version set it. */
            set_at: string | null;
            /** @description Who set the value, with the name at that time. It is null whenever `set_at` is null. */
            set_by: components["schemas"]["Actor"] | null;
        };
        NamedSecretList: {
            resources: components["schemas"]["NamedSecret"][];
        };
        /** @description Answers never contain the client secret. */
        OAuthProvider: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            organization_id: string;
            /** @description The identifier that you chose, unique in the organization. All other calls use it. */
            provider_id: string;
            name: string;
            client_id: string;
            auth_url: string;
            token_url: string;
            uses_pkce: boolean;
            code_challenge_method: "S256" | null;
            provider_type: ("microsoft" | "salesforce" | "slack") | null;
            mcp_server_url: string | null;
            /** @enum {string} */
            token_endpoint_auth_method: "none" | "client_secret_basic" | "client_secret_post";
            /** @description Whether this server registered the client. */
            is_dynamic_client: boolean;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        OAuthProviderCreateInput: {
            /** @description You choose it. It identifies the provider in other calls and is part of the redirect URI. Cannot be changed. */
            provider_id: string;
            /** @description The name that people see. */
            name: string;
            client_id: string;
            /** @description Stored encrypted. Responses never contain it. */
            client_secret?: string | null;
            /** @description The authorization endpoint, to which people are sent. Must be https, or http on this machine. A private address must be in OUTBOUND_ALLOW. Its query parameters are kept. */
            auth_url: string;
            /** @description The token endpoint. Must be https, or http on this machine. */
            token_url: string;
            /** @description Whether to use PKCE (RFC 7636). Default: false. */
            uses_pkce?: boolean | null;
            code_challenge_method?: "S256" | null;
            /** @description Set it for a provider that deviates from the standard. */
            provider_type?: ("microsoft" | "salesforce" | "slack") | null;
            /** @description How the client authenticates at the token endpoint. Default: client_secret_post. */
            token_endpoint_auth_method?: ("none" | "client_secret_basic" | "client_secret_post") | null;
        };
        OAuthProviderUpdateInput: {
            name?: string | null;
            client_id?: string | null;
            /** @description Stored encrypted. Responses never contain it. */
            client_secret?: string | null;
            /** @description The authorization endpoint, to which people are sent. Must be https, or http on this machine. A private address must be in OUTBOUND_ALLOW. Its query parameters are kept. */
            auth_url?: string | null;
            /** @description The token endpoint. Must be https, or http on this machine. A change to another origin requires client_secret, if the provider has one. */
            token_url?: string | null;
            /** @description Whether to use PKCE (RFC 7636). */
            uses_pkce?: boolean | null;
            code_challenge_method?: "S256" | null;
            /** @description How the client authenticates at the token endpoint. `none` removes the stored secret. */
            token_endpoint_auth_method?: ("none" | "client_secret_basic" | "client_secret_post") | null;
            id?: string | null;
            organization_id?: string | null;
            provider_id?: string | null;
            provider_type?: string | null;
            mcp_server_url?: string | null;
            is_dynamic_client?: boolean | null;
        };
        /** @description Only the answer to an agent contains the token itself. */
        OAuthToken: {
            /** Format: uuid */
            id: string;
            provider_id: string;
            /** @description The label that you gave the token, or else the provider’s name for the account. */
            provider_account_label: string | null;
            scopes: string[];
            /** @description Whether this token is used if you have several tokens of the provider. */
            is_default: boolean;
            /**
             * @description EXPIRED: the user has to authenticate again.
             * @enum {string}
             */
            status: "ACTIVE" | "EXPIRED";
            /** @description Why the token can’t be refreshed any more, or why the last refresh failed. */
            status_message: string | null;
            /** @description When the access token expires, unless it is refreshed before; null if the provider does not say. */
            expires_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        OAuthTokenMetadataInput: {
            /** @description A label that replaces the name of the account at the provider. */
            label?: string | null;
            /** @description true: this token is preferred among your tokens of the provider, and the others no longer are. */
            is_default?: boolean | null;
            /** @description An alias of `is_default`. */
            default?: boolean | null;
        };
        PushToken: {
            /** @description The password for `docker login`, with any user name. It is valid for 15 minutes. */
            token: string;
            /** @description Registry and repository. Push to `registry_url:tag` or `registry_url/name:tag`. */
            registry_url: string;
        };
        Repository: {
            /**
             * Format: uuid
             * @description Use it as `source_config.integration_id`.
             */
            host_integration_id: string;
            id: number;
            name: string;
            owner: string;
            /** @description Use it as `source_config.repo_url`. */
            url: string;
            /** @description Use it as `source_revision_config.repo_ref`. */
            default_branch: string;
        };
        ResourceSpec: {
            /** @description Minimum number of replicas. Default: 1. */
            min_scale?: number | null;
            /** @description Maximum number of replicas. Default: 1. */
            max_scale?: number | null;
            /** @description Cores requested by each replica, rounded to one decimal. */
            cpu?: number | null;
            /** @description Default: 2 × cpu. */
            cpu_limit?: number | null;
            /** @description MB requested by each replica. */
            memory_mb?: number | null;
            /** @description Default: 2 × memory_mb. */
            memory_limit_mb?: number | null;
            /** @description Default: min_scale. */
            queue_min_scale?: number | null;
            /** @description Default: max_scale. */
            queue_max_scale?: number | null;
            /** @description Default: cpu. */
            queue_cpu?: number | null;
            /** @description Default: 2 × queue_cpu. */
            queue_cpu_limit?: number | null;
            /** @description Default: memory_mb. */
            queue_memory_mb?: number | null;
            /** @description Default: 2 × queue_memory_mb. */
            queue_memory_limit_mb?: number | null;
            /**
             * @deprecated
             * @description Do not use. The value is stored and returned, and has no effect.
             */
            orchestrator_cpu?: number | null;
            /**
             * @deprecated
             * @description Do not use. The value is stored and returned, and has no effect.
             */
            orchestrator_cpu_limit?: number | null;
            /**
             * @deprecated
             * @description Do not use. The value is stored and returned, and has no effect.
             */
            orchestrator_memory_mb?: number | null;
            /**
             * @deprecated
             * @description Do not use. The value is stored and returned, and has no effect.
             */
            orchestrator_memory_limit_mb?: number | null;
            /**
             * @deprecated
             * @description Do not use. The value is stored and returned, and has no effect.
             */
            orchestrator_min_scale?: number | null;
            /**
             * @deprecated
             * @description Do not use. The value is stored and returned, and has no effect.
             */
            orchestrator_max_scale?: number | null;
            /**
             * @deprecated
             * @description Do not use. The value is stored and returned, and has no effect.
             */
            executor_cpu?: number | null;
            /**
             * @deprecated
             * @description Do not use. The value is stored and returned, and has no effect.
             */
            executor_cpu_limit?: number | null;
            /**
             * @deprecated
             * @description Do not use. The value is stored and returned, and has no effect.
             */
            executor_memory_mb?: number | null;
            /**
             * @deprecated
             * @description Do not use. The value is stored and returned, and has no effect.
             */
            executor_memory_limit_mb?: number | null;
            /** @description Cores requested by the cache. */
            cache_cpu?: number | null;
            /** @description Default: 2 × cache_cpu. */
            cache_cpu_limit?: number | null;
            /** @description MB requested by the cache. */
            cache_memory_mb?: number | null;
            /** @description Default: cache_memory_mb. */
            cache_memory_limit_mb?: number | null;
            /** @description Extra labels for the created resources. */
            labels?: {
                [key: string]: string;
            } | null;
            /** @description Extra annotations for the created resources. */
            annotations?: {
                [key: string]: string;
            } | null;
            /** @description Extra annotations for the Ingress only. They override `annotations`. */
            ingress_annotations?: {
                [key: string]: string;
            } | null;
            /** @description What sets the number of replicas between minimum and maximum. `cpu`: an autoscaler based on CPU. `none`: your own autoscaler. Default: `cpu`. */
            autoscaler?: ("cpu" | "none") | null;
            /** @description The class that decides where and how the pods run (GPU, node pool, priority). Must be one of the `pod_classes` of the listener. */
            class?: string | null;
            /** @description The service account must exist in the namespace. */
            service_account_name?: string | null;
            /** @description Image pull Secrets of the namespace. */
            image_pull_secrets?: {
                name: string;
            }[] | null;
            volumes?: {
                name: string;
                configMap?: {
                    [key: string]: unknown;
                } | null;
                secret?: {
                    [key: string]: unknown;
                } | null;
                emptyDir?: {
                    [key: string]: unknown;
                } | null;
                persistentVolumeClaim?: {
                    [key: string]: unknown;
                } | null;
                nfs?: {
                    [key: string]: unknown;
                } | null;
                projected?: {
                    [key: string]: unknown;
                } | null;
                downwardAPI?: {
                    [key: string]: unknown;
                } | null;
                csi?: {
                    [key: string]: unknown;
                } | null;
            }[] | null;
            /** @description Each mount names one of the volumes. */
            volume_mounts?: {
                name: string;
                mountPath?: string | null;
                subPath?: string | null;
                mountPropagation?: string | null;
                subPathExpr?: string | null;
                readOnly?: boolean | null;
            }[] | null;
            /** @description Containers that run to completion before the agent starts. */
            init_containers?: {
                name: string;
                image?: string | null;
                imagePullPolicy?: string | null;
                workingDir?: string | null;
                restartPolicy?: string | null;
                command?: string[] | null;
                args?: string[] | null;
                env?: {
                    name: string;
                    value?: string | null;
                    valueFrom?: {
                        [key: string]: unknown;
                    } | null;
                }[] | null;
                envFrom?: {
                    [key: string]: unknown;
                }[] | null;
                resources?: {
                    limits?: {
                        [key: string]: unknown;
                    } | null;
                    requests?: {
                        [key: string]: unknown;
                    } | null;
                } | null;
                volumeMounts?: {
                    name: string;
                    mountPath?: string | null;
                    subPath?: string | null;
                    mountPropagation?: string | null;
                    subPathExpr?: string | null;
                    readOnly?: boolean | null;
                }[] | null;
                securityContext?: {
                    [key: string]: unknown;
                } | null;
            }[] | null;
            /** @description Containers that run next to the agent. */
            sidecars?: {
                name: string;
                image?: string | null;
                imagePullPolicy?: string | null;
                workingDir?: string | null;
                restartPolicy?: string | null;
                command?: string[] | null;
                args?: string[] | null;
                env?: {
                    name: string;
                    value?: string | null;
                    valueFrom?: {
                        [key: string]: unknown;
                    } | null;
                }[] | null;
                envFrom?: {
                    [key: string]: unknown;
                }[] | null;
                resources?: {
                    limits?: {
                        [key: string]: unknown;
                    } | null;
                    requests?: {
                        [key: string]: unknown;
                    } | null;
                } | null;
                volumeMounts?: {
                    name: string;
                    mountPath?: string | null;
                    subPath?: string | null;
                    mountPropagation?: string | null;
                    subPathExpr?: string | null;
                    readOnly?: boolean | null;
                }[] | null;
                securityContext?: {
                    [key: string]: unknown;
                } | null;
            }[] | null;
            /** @description Cores requested by the database. */
            db_cpu?: number | null;
            /** @description Default: 2 × db_cpu. */
            db_cpu_limit?: number | null;
            /** @description MB requested by the database. */
            db_memory_mb?: number | null;
            /** @description Default: 2 × db_memory_mb. */
            db_memory_limit_mb?: number | null;
            /** @description GiB of database storage. Default: 10. */
            db_storage_gi?: number | null;
            /** @description Default: 100. */
            db_max_connections?: number | null;
        };
        ResourceSpecInput: {
            /** @description Minimum number of replicas. Default: 1. */
            min_scale?: number | null;
            /** @description Maximum number of replicas. Default: 1. */
            max_scale?: number | null;
            /** @description Cores requested by each replica, rounded to one decimal. */
            cpu?: number | null;
            /** @description Default: 2 × cpu. */
            cpu_limit?: number | null;
            /** @description MB requested by each replica. */
            memory_mb?: number | null;
            /** @description Default: 2 × memory_mb. */
            memory_limit_mb?: number | null;
            /** @description Default: min_scale. */
            queue_min_scale?: number | null;
            /** @description Default: max_scale. */
            queue_max_scale?: number | null;
            /** @description Default: cpu. */
            queue_cpu?: number | null;
            /** @description Default: 2 × queue_cpu. */
            queue_cpu_limit?: number | null;
            /** @description Default: memory_mb. */
            queue_memory_mb?: number | null;
            /** @description Default: 2 × queue_memory_mb. */
            queue_memory_limit_mb?: number | null;
            /**
             * @deprecated
             * @description Do not use. The value is stored and returned, and has no effect.
             */
            orchestrator_cpu?: number | null;
            /**
             * @deprecated
             * @description Do not use. The value is stored and returned, and has no effect.
             */
            orchestrator_cpu_limit?: number | null;
            /**
             * @deprecated
             * @description Do not use. The value is stored and returned, and has no effect.
             */
            orchestrator_memory_mb?: number | null;
            /**
             * @deprecated
             * @description Do not use. The value is stored and returned, and has no effect.
             */
            orchestrator_memory_limit_mb?: number | null;
            /**
             * @deprecated
             * @description Do not use. The value is stored and returned, and has no effect.
             */
            orchestrator_min_scale?: number | null;
            /**
             * @deprecated
             * @description Do not use. The value is stored and returned, and has no effect.
             */
            orchestrator_max_scale?: number | null;
            /**
             * @deprecated
             * @description Do not use. The value is stored and returned, and has no effect.
             */
            executor_cpu?: number | null;
            /**
             * @deprecated
             * @description Do not use. The value is stored and returned, and has no effect.
             */
            executor_cpu_limit?: number | null;
            /**
             * @deprecated
             * @description Do not use. The value is stored and returned, and has no effect.
             */
            executor_memory_mb?: number | null;
            /**
             * @deprecated
             * @description Do not use. The value is stored and returned, and has no effect.
             */
            executor_memory_limit_mb?: number | null;
            /** @description Cores requested by the cache. */
            cache_cpu?: number | null;
            /** @description Default: 2 × cache_cpu. */
            cache_cpu_limit?: number | null;
            /** @description MB requested by the cache. */
            cache_memory_mb?: number | null;
            /** @description Default: cache_memory_mb. */
            cache_memory_limit_mb?: number | null;
            /** @description Extra labels for the created resources. */
            labels?: {
                [key: string]: string;
            } | null;
            /** @description Extra annotations for the created resources. */
            annotations?: {
                [key: string]: string;
            } | null;
            /** @description Extra annotations for the Ingress only. They override `annotations`. */
            ingress_annotations?: {
                [key: string]: string;
            } | null;
            /** @description What sets the number of replicas between minimum and maximum. `cpu`: an autoscaler based on CPU. `none`: your own autoscaler. Default: `cpu`. */
            autoscaler?: ("cpu" | "none") | null;
            /** @description The class that decides where and how the pods run (GPU, node pool, priority). Must be one of the `pod_classes` of the listener. */
            class?: string | null;
            /** @description The service account must exist in the namespace. */
            service_account_name?: string | null;
            /** @description Image pull Secrets of the namespace. */
            image_pull_secrets?: {
                name: string;
            }[] | null;
            volumes?: {
                name: string;
                configMap?: {
                    [key: string]: unknown;
                } | null;
                secret?: {
                    [key: string]: unknown;
                } | null;
                emptyDir?: {
                    [key: string]: unknown;
                } | null;
                persistentVolumeClaim?: {
                    [key: string]: unknown;
                } | null;
                nfs?: {
                    [key: string]: unknown;
                } | null;
                projected?: {
                    [key: string]: unknown;
                } | null;
                downwardAPI?: {
                    [key: string]: unknown;
                } | null;
                csi?: {
                    [key: string]: unknown;
                } | null;
            }[] | null;
            /** @description Each mount names one of the volumes. */
            volume_mounts?: {
                name: string;
                mountPath?: string | null;
                subPath?: string | null;
                mountPropagation?: string | null;
                subPathExpr?: string | null;
                readOnly?: boolean | null;
            }[] | null;
            /** @description Containers that run to completion before the agent starts. */
            init_containers?: {
                name: string;
                image?: string | null;
                imagePullPolicy?: string | null;
                workingDir?: string | null;
                restartPolicy?: string | null;
                command?: string[] | null;
                args?: string[] | null;
                env?: {
                    name: string;
                    value?: string | null;
                    valueFrom?: {
                        [key: string]: unknown;
                    } | null;
                }[] | null;
                envFrom?: {
                    [key: string]: unknown;
                }[] | null;
                resources?: {
                    limits?: {
                        [key: string]: unknown;
                    } | null;
                    requests?: {
                        [key: string]: unknown;
                    } | null;
                } | null;
                volumeMounts?: {
                    name: string;
                    mountPath?: string | null;
                    subPath?: string | null;
                    mountPropagation?: string | null;
                    subPathExpr?: string | null;
                    readOnly?: boolean | null;
                }[] | null;
                securityContext?: {
                    [key: string]: unknown;
                } | null;
            }[] | null;
            /** @description Containers that run next to the agent. */
            sidecars?: {
                name: string;
                image?: string | null;
                imagePullPolicy?: string | null;
                workingDir?: string | null;
                restartPolicy?: string | null;
                command?: string[] | null;
                args?: string[] | null;
                env?: {
                    name: string;
                    value?: string | null;
                    valueFrom?: {
                        [key: string]: unknown;
                    } | null;
                }[] | null;
                envFrom?: {
                    [key: string]: unknown;
                }[] | null;
                resources?: {
                    limits?: {
                        [key: string]: unknown;
                    } | null;
                    requests?: {
                        [key: string]: unknown;
                    } | null;
                } | null;
                volumeMounts?: {
                    name: string;
                    mountPath?: string | null;
                    subPath?: string | null;
                    mountPropagation?: string | null;
                    subPathExpr?: string | null;
                    readOnly?: boolean | null;
                }[] | null;
                securityContext?: {
                    [key: string]: unknown;
                } | null;
            }[] | null;
            /** @description Cores requested by the database. */
            db_cpu?: number | null;
            /** @description Default: 2 × db_cpu. */
            db_cpu_limit?: number | null;
            /** @description MB requested by the database. */
            db_memory_mb?: number | null;
            /** @description Default: 2 × db_memory_mb. */
            db_memory_limit_mb?: number | null;
            /** @description GiB of database storage. Default: 10. */
            db_storage_gi?: number | null;
            /** @description Default: 100. */
            db_max_connections?: number | null;
        };
        RevealedSecret: {
            name: string;
            value: string;
        };
        Revision: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            deployment_id: string;
            /** @description The number of the revision within its deployment: 1, 2, 3, … */
            number: number;
            /** @enum {string} */
            status: "CREATING" | "QUEUED" | "AWAITING_BUILD" | "BUILDING" | "AWAITING_DEPLOY" | "DEPLOYING" | "DEPLOYED" | "CREATE_FAILED" | "BUILD_FAILED" | "DEPLOY_FAILED" | "SKIPPED" | "INTERRUPTED" | "UNKNOWN";
            /** @description Why the revision failed or was skipped, or what it waits for. */
            status_message: string | null;
            /** @description The same as a machine-readable code. */
            reason: ("WAITING_FOR_WORKER" | "WAITING_FOR_LISTENER" | "LISTENER_SILENT" | "WAITING_FOR_BUILDER" | "BUILDER_SILENT" | "WAITING_FOR_IMAGE" | "WAITING_FOR_TARBALL" | "QUEUED_BEHIND" | "WAITING_FOR_TURN" | "SERVER_OVERLOADED" | "IN_PROGRESS" | "PULLING_IMAGE" | "WAITING_FOR_HEALTH" | "ROLLING_OUT" | "ROLLOUT_PAUSED" | "CHANGED_BY_OTHERS" | "NO_RUNTIME" | "NO_BUILDER" | "CONFIG_INVALID" | "CLONE_FAILED" | "INTEGRATION_UNAVAILABLE" | "TARBALL_UNAVAILABLE" | "TARBALL_INVALID" | "TOOL_MISSING" | "SECRET_MISSING" | "CONTENT_MISSING" | "ARTIFACT_LOST" | "INSTALL_FAILED" | "BUILD_COMMAND_FAILED" | "HEALTH_CHECK_TIMED_OUT" | "CRASHED" | "OUT_OF_MEMORY" | "PROCESS_LIMIT" | "FILE_LIMIT" | "DISK_LIMIT" | "DATABASE_LIMIT" | "IMAGE_PULL_FAILED" | "CONTAINER_START_FAILED" | "UNSCHEDULABLE" | "QUOTA_EXCEEDED" | "STORAGE_UNAVAILABLE" | "DATABASE_UNAVAILABLE" | "CLUSTER_UNREACHABLE" | "CLUSTER_REFUSED" | "NO_ENDPOINTS" | "PORT_IN_USE" | "NO_SPACE" | "DEADLINE" | "WORKER_LOST" | "NOBODY_TOOK_IT" | "SUPERSEDED" | "INTERRUPTED_BY_PERSON" | "DEPLOYMENT_DELETED" | "PROVISION_FAILED" | "BUILD_FAILED" | "DEPLOY_FAILED" | "TEARDOWN_FAILED" | "NOT_READY" | "NOT_OBSERVED" | "INTERNAL") | null;
            /** @description Since when the reason applies. */
            reason_since: string | null;
            /** @enum {string} */
            source: "gitprovider" | "external_container" | "internal_container" | "internal_source";
            source_revision_config: components["schemas"]["SourceRevisionConfig"];
            /** @description The number of the attempt. It starts at 1; each redeploy adds 1. */
            attempt: number;
            /** @description The first line of the commit message, if git or the provider reported it. */
            commit_message: string | null;
            /** @description The name of the commit’s author. */
            commit_author: string | null;
            /**
             * @description The trigger of the revision; null if it was not recorded.
             *     - `create`: The deployment was created with this revision.
             *     - `update`: A caller changed what is built or run.
             *     - `secrets`: A caller changed secrets and not the source.
             *     - `request`: A caller requested a new revision.
             *     - `push`: A commit was pushed to the branch.
             */
            trigger: ("create" | "update" | "secrets" | "request" | "push") | null;
            /** @description Who created the revision; null if it was not recorded. */
            created_by: components["schemas"]["Actor"] | null;
            /** @description When the newest attempt was requested; null if it was not recorded. */
            rollout_at: string | null;
            /** @description Who requested the newest attempt. */
            rollout_by: components["schemas"]["Actor"] | null;
            /** @description For a superseded revision, the revision that superseded it. */
            superseded_by_id: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        RevisionComparison: {
            from: components["schemas"]["Revision"];
            to: components["schemas"]["Revision"];
            /** @description Whether no difference is known. */
            is_same: boolean;
            /** @description Differences in source, commit, image, commands and resources. */
            differences: components["schemas"]["RevisionDifference"][];
            /** @description Differences by name and value. The time when a value was set does not count. Values are never shown. */
            secrets: components["schemas"]["NameDifferences"];
            /** @description Differences by the name of the variable; null if the references of one revision were not recorded. */
            secret_references: components["schemas"]["NameDifferences"] | null;
            /** @description Whether the resources of both revisions were recorded. If not, resources are not compared. */
            resources_known: boolean;
        };
        RevisionDetails: {
            /** Format: uuid */
            revision_id: string;
            /** @description Whether this revision is the active one. */
            is_active: boolean;
            /** @description Whether the state of the revision allows a redeploy. The caller’s role is not considered. */
            can_redeploy: boolean;
            /** @description Why it can’t be redeployed, as a clause for people: “it is being built”. */
            why_not_redeployable: string | null;
            /** @description The position in the queue of the same listener, or of the built-in workers; 1 has waited longest. It is null if the revision does not wait for a worker. */
            queue_position: number | null;
            /** @description The steps of the revision, oldest first. Old steps are deleted. */
            steps: components["schemas"]["RevisionStep"][];
            /** @description Durations of the newest attempt, in seconds. A value is null if that part did not happen, is not over, or is unknown. */
            durations: {
                /** @description Time without work on the revision. */
                waited: number | null;
                provision: number | null;
                build: number | null;
                deploy: number | null;
                /** @description Time from the request to the end of the work. */
                total: number | null;
            };
            /** @description Equal fingerprints mean equal values. Compare only fingerprints that were read at the same time. */
            secret_fingerprints: {
                name: string;
                fingerprint: string;
            }[];
            /** @description The resources that the revision runs with, or last ran with, including defaults. A null member is decided by the runtime; in a cluster by the settings DEFAULT_… of the listener. It is null if the resources were not recorded. */
            effective_resources: components["schemas"]["ResourceSpec"] | null;
            /** @description The secret references that the revision runs with, or last ran with; null if they were not recorded. */
            secret_references: components["schemas"]["SecretReference"][] | null;
            /** @description The plan of the build; null if the revision has no build, or no plan was reported yet. */
            build_plan: {
                /** @description The kind of project: `dockerfile`, `node` or `python`. */
                kind: string;
                /** @description `own`: the source contains its server. `supplied`: the source contains only graphs, and the platform adds the server. */
                server: string;
                /** @description Describes the whole plan for people. */
                sentence: string;
                /** @description The install commands, in order. */
                install: string[];
                /** @description The build command. null: nothing to build. */
                build: string | null;
                /** @description The start command. null: the image defines it. */
                start: string | null;
            } | null;
        };
        RevisionDifference: {
            /** @enum {string} */
            part: "source" | "commit" | "image" | "commands" | "resources";
            /** @description The name of the field in this API, such as `repo_ref` or `memory_mb`. */
            field: string;
            /** @description The first value. A resource value that is no text is JSON. */
            from: string | null;
            to: string | null;
        };
        RevisionList: {
            resources: components["schemas"]["Revision"][];
            /** @description The offset that fetches the next page. */
            offset: number;
        };
        RevisionStep: {
            /** @enum {string} */
            kind: "PROVISION" | "BUILD" | "DEPLOY";
            /**
             * Format: date-time
             * @description Since when a worker could take the step.
             */
            created_at: string;
            /** @description When a worker first took the step; null if none has. */
            started_at: string | null;
            /** @description When the step ended; null if it has not. */
            ended_at: string | null;
            /** @description How often the step was started. A value above 1 means that a worker lost its lease. */
            tries: number;
            outcome: ("succeeded" | "failed" | "cancelled") | null;
            /** @description Why the step failed, as a machine-readable code. */
            reason: ("WAITING_FOR_WORKER" | "WAITING_FOR_LISTENER" | "LISTENER_SILENT" | "WAITING_FOR_BUILDER" | "BUILDER_SILENT" | "WAITING_FOR_IMAGE" | "WAITING_FOR_TARBALL" | "QUEUED_BEHIND" | "WAITING_FOR_TURN" | "SERVER_OVERLOADED" | "IN_PROGRESS" | "PULLING_IMAGE" | "WAITING_FOR_HEALTH" | "ROLLING_OUT" | "ROLLOUT_PAUSED" | "CHANGED_BY_OTHERS" | "NO_RUNTIME" | "NO_BUILDER" | "CONFIG_INVALID" | "CLONE_FAILED" | "INTEGRATION_UNAVAILABLE" | "TARBALL_UNAVAILABLE" | "TARBALL_INVALID" | "TOOL_MISSING" | "SECRET_MISSING" | "CONTENT_MISSING" | "ARTIFACT_LOST" | "INSTALL_FAILED" | "BUILD_COMMAND_FAILED" | "HEALTH_CHECK_TIMED_OUT" | "CRASHED" | "OUT_OF_MEMORY" | "PROCESS_LIMIT" | "FILE_LIMIT" | "DISK_LIMIT" | "DATABASE_LIMIT" | "IMAGE_PULL_FAILED" | "CONTAINER_START_FAILED" | "UNSCHEDULABLE" | "QUOTA_EXCEEDED" | "STORAGE_UNAVAILABLE" | "DATABASE_UNAVAILABLE" | "CLUSTER_UNREACHABLE" | "CLUSTER_REFUSED" | "NO_ENDPOINTS" | "PORT_IN_USE" | "NO_SPACE" | "DEADLINE" | "WORKER_LOST" | "NOBODY_TOOK_IT" | "SUPERSEDED" | "INTERRUPTED_BY_PERSON" | "DEPLOYMENT_DELETED" | "PROVISION_FAILED" | "BUILD_FAILED" | "DEPLOY_FAILED" | "TEARDOWN_FAILED" | "NOT_READY" | "NOT_OBSERVED" | "INTERNAL") | null;
            /** @description Whether the step belongs to the newest attempt. */
            is_current: boolean;
        };
        Secret: {
            name: string;
            value: string;
        };
        SecretInput: {
            name: string;
            value: string;
        };
        SecretReference: {
            name: string;
            secret_name: string;
            secret_key: string;
        };
        SecretReferenceInput: {
            name: string;
            secret_name: string;
            secret_key: string;
        };
        SecretsChangeInput: {
            /** @description Secrets to add, and new values of existing secrets. */
            set?: components["schemas"]["SecretInput"][] | null;
            /** @description Names of the secrets to remove. */
            unset?: string[] | null;
        };
        Session: {
            /** Format: uuid */
            id: string;
            /** @description The person or key that uses the session. Events show the same actor. */
            actor: components["schemas"]["Actor"];
            /**
             * @description The role of the session. A session of a key has the current role of the key.
             * @enum {string}
             */
            role: "viewer" | "deployer" | "admin";
            /** @description The workspace of the session; null if it covers all workspaces of the organization. */
            workspace_id: string | null;
            /** @description The key that opened the session. The session ends when the key is revoked. */
            api_key_id: string | null;
            /** @description Whether this call used the session. */
            current: boolean;
            /** Format: date-time */
            created_at: string;
            last_used_at: string | null;
            /** Format: date-time */
            expires_at: string;
            /** @description When the session was ended; null if it was not ended before it expired. */
            ended_at: string | null;
        };
        SessionList: {
            resources: components["schemas"]["Session"][];
            /** @description The offset that fetches the next page. */
            offset: number;
        };
        SourceConfig: {
            /** @description The id of an integration from GET /v1/integrations/gitprovider/install. Only for gitprovider; cannot be changed. */
            integration_id?: string | null;
            /** @description URL of the git repository. Only for gitprovider; cannot be changed. */
            repo_url?: string | null;
            /** @description For gitprovider; default `dev`; cannot be changed. For internal_source and internal_container it is accepted and has no effect. */
            deployment_type?: ("dev_free" | "dev" | "prod") | null;
            /** @description Build a new revision on a push to repo_ref, which must be a branch. Only for gitprovider. */
            build_on_push?: boolean | null;
            /** @description You can set it only for external_container. For other sources it is set automatically. */
            custom_url?: string | null;
            resource_spec?: components["schemas"]["ResourceSpec"] | null;
            /** @description The listener that runs the deployment. Only for external_container; cannot be changed. */
            listener_id?: string | null;
            listener_config?: components["schemas"]["ListenerConfig"] | null;
            /** @description Runs in the root of the repository. If absent, it is detected from the lock file. An empty text removes the stored command. */
            install_command?: string | null;
            /** @description Runs in the directory of the graph configuration file. An empty text removes the stored command. */
            build_command?: string | null;
        };
        SourceConfigInput: {
            /** @description The id of an integration from GET /v1/integrations/gitprovider/install. Only for gitprovider; cannot be changed. */
            integration_id?: string | null;
            /** @description URL of the git repository. Only for gitprovider; cannot be changed. */
            repo_url?: string | null;
            /** @description For gitprovider; default `dev`; cannot be changed. For internal_source and internal_container it is accepted and has no effect. */
            deployment_type?: ("dev_free" | "dev" | "prod") | null;
            /** @description Build a new revision on a push to repo_ref, which must be a branch. Only for gitprovider. */
            build_on_push?: boolean | null;
            /** @description You can set it only for external_container. For other sources it is set automatically. */
            custom_url?: string | null;
            resource_spec?: components["schemas"]["ResourceSpecInput"] | null;
            /** @description The listener that runs the deployment. Only for external_container; cannot be changed. */
            listener_id?: string | null;
            listener_config?: components["schemas"]["ListenerConfigInput"] | null;
            /** @description Runs in the root of the repository. If absent, it is detected from the lock file. An empty text removes the stored command. */
            install_command?: string | null;
            /** @description Runs in the directory of the graph configuration file. An empty text removes the stored command. */
            build_command?: string | null;
        };
        SourceRevisionConfig: {
            /** @description The name of a branch, or a tag as refs/tags/…. Only for gitprovider. A change creates a new revision. */
            repo_ref?: string | null;
            /** @description Path of the graph configuration file in the repository. Only for gitprovider and internal_source, which require it on create. A change creates a new revision. */
            graph_config_path?: string | null;
            /** @description Container image. Only for external_container, which requires it on create, and internal_container. A change creates a new revision. */
            image_uri?: string | null;
            /** @description Object path from the upload-url of this deployment. Only for internal_source. A change creates a new revision. */
            source_tarball_path?: string | null;
            /** @description The commit that a build used, even if the build failed. Read-only: ignored in requests. */
            readonly repo_commit_sha?: string | null;
        };
        SourceRevisionConfigInput: {
            /** @description The name of a branch, or a tag as refs/tags/…. Only for gitprovider. A change creates a new revision. */
            repo_ref?: string | null;
            /** @description Path of the graph configuration file in the repository. Only for gitprovider and internal_source, which require it on create. A change creates a new revision. */
            graph_config_path?: string | null;
            /** @description Container image. Only for external_container, which requires it on create, and internal_container. A change creates a new revision. */
            image_uri?: string | null;
            /** @description Object path from the upload-url of this deployment. Only for internal_source. A change creates a new revision. */
            source_tarball_path?: string | null;
            /** @description The commit that a build used, even if the build failed. Read-only: ignored in requests. */
            readonly repo_commit_sha?: string | null;
        };
        UploadUrl: {
            /**
             * Format: uri
             * @description Accepts one PUT of a gzip tarball within one hour, without an API key.
             */
            upload_url: string;
            /** @description Use it as `source_revision_config.source_tarball_path`. */
            object_path: string;
        };
        ValidationError: {
            detail: {
                /** @description Location of the violation: `path`, `query`, `body` or `header`, then the field. */
                loc: (string | number)[];
                /** @description The allowed values. */
                msg: string;
                /** @description A stable machine-readable code. */
                type: string;
            }[];
            /** @description A stable machine-readable code. */
            code: string;
            /** @description The id of the request. It is also in the header `X-Request-Id` and in the server's log. */
            request_id: string;
        };
        Workspace: {
            /**
             * Format: uuid
             * @description The `tenant_id` of its resources, and the value of `X-Tenant-Id`.
             */
            id: string;
            /** Format: uuid */
            organization_id: string;
            name: string;
            /** Format: date-time */
            created_at: string;
        };
        WorkspaceCreateInput: {
            /** @description The name is unique in the organization. */
            name: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: {
        /** @description The remaining requests (`r`) and the seconds until the limit is fully available again (`t`), as in draft-ietf-httpapi-ratelimit-headers: `"key";r=1999;t=1`. */
        RateLimit: string;
        /** @description The limit: the number of requests (`q`) and the seconds until all of them are available again (`w`): `"key";q=2000;w=4`. The header is absent if no limit is set. */
        RateLimitPolicy: string;
        /** @description Seconds to wait before you repeat the call. */
        RetryAfter: number;
    };
    pathItems: never;
}
export type AccessToken = components['schemas']['AccessToken'];
export type Actor = components['schemas']['Actor'];
export type AuthenticateInput = components['schemas']['AuthenticateInput'];
export type Authorization = components['schemas']['Authorization'];
export type BulkDeletion = components['schemas']['BulkDeletion'];
export type Connection = components['schemas']['Connection'];
export type ConnectionList = components['schemas']['ConnectionList'];
export type CreateConnectionInput = components['schemas']['CreateConnectionInput'];
export type DeletedOAuthTokens = components['schemas']['DeletedOAuthTokens'];
export type Deployment = components['schemas']['Deployment'];
export type DeploymentChange = components['schemas']['DeploymentChange'];
export type DeploymentCreateInput = components['schemas']['DeploymentCreateInput'];
export type DeploymentHealth = components['schemas']['DeploymentHealth'];
export type DeploymentList = components['schemas']['DeploymentList'];
export type DeploymentUpdateInput = components['schemas']['DeploymentUpdateInput'];
export type DeploymentsChange = components['schemas']['DeploymentsChange'];
export type Error = components['schemas']['Error'];
export type Event = components['schemas']['Event'];
export type EventPage = components['schemas']['EventPage'];
export type Installation = components['schemas']['Installation'];
export type Integration = components['schemas']['Integration'];
export type IssueAccessTokenInput = components['schemas']['IssueAccessTokenInput'];
export type Listener = components['schemas']['Listener'];
export type ListenerComputeConfig = components['schemas']['ListenerComputeConfig'];
export type ListenerComputeConfigInput = components['schemas']['ListenerComputeConfigInput'];
export type ListenerConfig = components['schemas']['ListenerConfig'];
export type ListenerConfigInput = components['schemas']['ListenerConfigInput'];
export type ListenerCreateInput = components['schemas']['ListenerCreateInput'];
export type ListenerList = components['schemas']['ListenerList'];
export type ListenerUpdateInput = components['schemas']['ListenerUpdateInput'];
export type LogPage = components['schemas']['LogPage'];
export type McpDiscoveryInput = components['schemas']['McpDiscoveryInput'];
export type NameDifferences = components['schemas']['NameDifferences'];
export type NamedSecret = components['schemas']['NamedSecret'];
export type NamedSecretList = components['schemas']['NamedSecretList'];
export type OAuthProvider = components['schemas']['OAuthProvider'];
export type OAuthProviderCreateInput = components['schemas']['OAuthProviderCreateInput'];
export type OAuthProviderUpdateInput = components['schemas']['OAuthProviderUpdateInput'];
export type OAuthToken = components['schemas']['OAuthToken'];
export type OAuthTokenMetadataInput = components['schemas']['OAuthTokenMetadataInput'];
export type PushToken = components['schemas']['PushToken'];
export type Repository = components['schemas']['Repository'];
export type ResourceSpec = components['schemas']['ResourceSpec'];
export type ResourceSpecInput = components['schemas']['ResourceSpecInput'];
export type RevealedSecret = components['schemas']['RevealedSecret'];
export type Revision = components['schemas']['Revision'];
export type RevisionComparison = components['schemas']['RevisionComparison'];
export type RevisionDetails = components['schemas']['RevisionDetails'];
export type RevisionDifference = components['schemas']['RevisionDifference'];
export type RevisionList = components['schemas']['RevisionList'];
export type RevisionStep = components['schemas']['RevisionStep'];
export type Secret = components['schemas']['Secret'];
export type SecretInput = components['schemas']['SecretInput'];
export type SecretReference = components['schemas']['SecretReference'];
export type SecretReferenceInput = components['schemas']['SecretReferenceInput'];
export type SecretsChangeInput = components['schemas']['SecretsChangeInput'];
export type Session = components['schemas']['Session'];
export type SessionList = components['schemas']['SessionList'];
export type SourceConfig = components['schemas']['SourceConfig'];
export type SourceConfigInput = components['schemas']['SourceConfigInput'];
export type SourceRevisionConfig = components['schemas']['SourceRevisionConfig'];
export type SourceRevisionConfigInput = components['schemas']['SourceRevisionConfigInput'];
export type UploadUrl = components['schemas']['UploadUrl'];
export type ValidationError = components['schemas']['ValidationError'];
export type Workspace = components['schemas']['Workspace'];
export type WorkspaceCreateInput = components['schemas']['WorkspaceCreateInput'];
export type HeaderRateLimit = components['headers']['RateLimit'];
export type HeaderRateLimitPolicy = components['headers']['RateLimitPolicy'];
export type HeaderRetryAfter = components['headers']['RetryAfter'];
export type $defs = Record<string, never>;
export interface operations {
    listDeploymentChanges: {
        parameters: {
            query?: {
                /** @description The `cursor` of an answer, or of a message of a stream. */
                after?: string;
                /** @description Only of this deployment. */
                deployment_id?: string;
            };
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
                /** @description For a stream: the `id` of the last received event. It overrides the start position in the query. */
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The deployments that have changed after the cursor. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeploymentsChange"];
                };
            };
        };
    };
    listDeployments: {
        parameters: {
            query?: {
                limit?: number;
                /** @description The `offset` of the previous page. */
                offset?: number;
                /** @description Only deployments whose name contains this text, ignoring case. */
                name_contains?: string;
                /** @description Only the deployment with exactly this name. */
                name?: string;
                status?: "AWAITING_DATABASE" | "READY" | "UNUSED" | "AWAITING_DELETE" | "UNKNOWN";
                /** @description true: only deployments that serve requests now. false: only the others. */
                serving?: boolean;
                /** @description Only deployments whose latest revision has one of these statuses: CREATING, QUEUED, AWAITING_BUILD, BUILDING, AWAITING_DEPLOY, DEPLOYING, DEPLOYED, CREATE_FAILED, BUILD_FAILED, DEPLOY_FAILED, SKIPPED, INTERRUPTED, UNKNOWN. Comma-separated. */
                latest_revision_status?: string;
                /** @description true: only deployments whose latest revision is open and waits for a worker or another condition. false: only the others. */
                latest_revision_waits?: boolean;
                source?: "gitprovider" | "external_container" | "internal_container" | "internal_source";
                /** @description Only deployments of this listener. */
                listener_id?: string;
                /** @description true: only deployments that a listener runs. false: only the others. */
                remote_reconciled?: boolean;
                /** @description Only deployments with at least one of these tags. Comma-separated. */
                tag_value_ids?: string;
                /** @description Only deployments whose active revision reported this version. */
                image_version?: string;
                deployment_type?: "dev_free" | "dev" | "prod";
                /** @description Only deployments with these ids. Comma-separated. */
                deployment_ids?: string;
            };
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of deployments. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeploymentList"];
                };
            };
        };
    };
    createDeployment: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeploymentCreateInput"];
            };
        };
        responses: {
            /** @description The deployment. Its `latest_revision_id` is the first revision. */
            201: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The revision that this call created or changed. The header is absent if there is none. */
                    "X-Revision-Id"?: string;
                    /** @description The entity tag of this answer for this caller: `"<edit>-<hash>"`. `If-Match` compares only the edit number, `If-None-Match` the whole tag. */
                    ETag?: string;
                    /** @description `true` if this is the answer to an earlier call with the same `Idempotency-Key`. Absent otherwise. */
                    "Idempotency-Replayed"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deployment"];
                };
            };
        };
    };
    deleteDeployments: {
        parameters: {
            query: {
                /** @description Also delete the tracing project of the same name. Default: false. */
                delete_tracing_project?: boolean;
                /** @description Delete the deployment even if its runtime cannot be torn down. Needs the role admin. Default: false. */
                force?: boolean;
                /** @description The deployments to delete: `deployment_ids=…&deployment_ids=…`. */
                deployment_ids: string[];
            };
            header?: {
                /** @description Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All the deployments are being deleted. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description `true` if this is the answer to an earlier call with the same `Idempotency-Key`. Absent otherwise. */
                    "Idempotency-Replayed"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkDeletion"];
                };
            };
            /** @description Some deletions failed: see each result. */
            207: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description `true` if this is the answer to an earlier call with the same `Idempotency-Key`. Absent otherwise. */
                    "Idempotency-Replayed"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkDeletion"];
                };
            };
        };
    };
    getDeployment: {
        parameters: {
            query?: {
                /** @description The longest wait, in seconds, for the newest rollout to end. */
                wait?: number;
            };
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
            };
            path: {
                deployment_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The deployment. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller: `"<edit>-<hash>"`. `If-Match` compares only the edit number, `If-None-Match` the whole tag. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deployment"];
                };
            };
        };
    };
    deleteDeployment: {
        parameters: {
            query?: {
                /** @description Also delete the tracing project of the same name. Default: false. */
                delete_tracing_project?: boolean;
                /** @description Delete the deployment even if its runtime cannot be torn down. Needs the role admin. Default: false. */
                force?: boolean;
            };
            header?: {
                /** @description The `ETag` that you know. If a caller has changed the resource since, the call answers 412 and changes nothing. Status and health changes by workers do not count. */
                "If-Match"?: string;
                /** @description Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write. */
                "Idempotency-Key"?: string;
            };
            path: {
                deployment_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The deployment is being deleted. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updateDeployment: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that you know. If a caller has changed the resource since, the call answers 412 and changes nothing. Status and health changes by workers do not count. */
                "If-Match"?: string;
                /** @description Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write. */
                "Idempotency-Key"?: string;
            };
            path: {
                deployment_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeploymentUpdateInput"];
            };
        };
        responses: {
            /** @description The deployment after this call. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The revision that this call created or changed. The header is absent if there is none. */
                    "X-Revision-Id"?: string;
                    /** @description The entity tag of this answer for this caller: `"<edit>-<hash>"`. `If-Match` compares only the edit number, `If-None-Match` the whole tag. */
                    ETag?: string;
                    /** @description `true` if this is the answer to an earlier call with the same `Idempotency-Key`. Absent otherwise. */
                    "Idempotency-Replayed"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deployment"];
                };
            };
        };
    };
    listSecrets: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
            };
            path: {
                deployment_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All secrets, without values. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NamedSecretList"];
                };
            };
        };
    };
    setSecrets: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that you know. If a caller has changed the resource since, the call answers 412 and changes nothing. Status and health changes by workers do not count. */
                "If-Match"?: string;
                /** @description Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write. */
                "Idempotency-Key"?: string;
            };
            path: {
                deployment_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SecretsChangeInput"];
            };
        };
        responses: {
            /** @description The deployment after this call. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The revision that this call created or changed. The header is absent if there is none. */
                    "X-Revision-Id"?: string;
                    /** @description The entity tag of this answer for this caller: `"<edit>-<hash>"`. `If-Match` compares only the edit number, `If-None-Match` the whole tag. */
                    ETag?: string;
                    /** @description `true` if this is the answer to an earlier call with the same `Idempotency-Key`. Absent otherwise. */
                    "Idempotency-Replayed"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deployment"];
                };
            };
        };
    };
    revealSecret: {
        parameters: {
            query?: never;
            header?: {
                /** @description The header has no effect: each call creates something new. */
                "Idempotency-Key"?: string;
            };
            path: {
                deployment_id: string;
                /** @description The name of the secret. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The secret. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RevealedSecret"];
                };
            };
        };
    };
    listRevisions: {
        parameters: {
            query?: {
                limit?: number;
                /** @description The `offset` of the previous page. */
                offset?: number;
                /** @description Only revisions with one of these statuses: CREATING, QUEUED, AWAITING_BUILD, BUILDING, AWAITING_DEPLOY, DEPLOYING, DEPLOYED, CREATE_FAILED, BUILD_FAILED, DEPLOY_FAILED, SKIPPED, INTERRUPTED, UNKNOWN. Comma-separated. */
                status?: string;
                /** @description true: only if a listener runs the deployment. false: only if none does. */
                remote_reconciled?: boolean;
            };
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
            };
            path: {
                deployment_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of revisions. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RevisionList"];
                };
            };
        };
    };
    createRevision: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that you know. If a caller has changed the resource since, the call answers 412 and changes nothing. Status and health changes by workers do not count. */
                "If-Match"?: string;
                /** @description Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write. */
                "Idempotency-Key"?: string;
            };
            path: {
                deployment_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeploymentUpdateInput"];
            };
        };
        responses: {
            /** @description The new revision. */
            201: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The revision that this call created or changed. The header is absent if there is none. */
                    "X-Revision-Id"?: string;
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    /** @description `true` if this is the answer to an earlier call with the same `Idempotency-Key`. Absent otherwise. */
                    "Idempotency-Replayed"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Revision"];
                };
            };
        };
    };
    getRevision: {
        parameters: {
            query?: {
                /** @description The longest wait, in seconds, for the revision to end. */
                wait?: number;
            };
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
            };
            path: {
                deployment_id: string;
                revision_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The revision. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Revision"];
                };
            };
        };
    };
    getRevisionDetails: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
            };
            path: {
                deployment_id: string;
                revision_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The details. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RevisionDetails"];
                };
            };
        };
    };
    compareRevisions: {
        parameters: {
            query: {
                /** @description The first revision. */
                from: string;
                /** @description The second revision, of the same deployment. */
                to: string;
                /** @description If true, compares `to` as it would run if it was redeployed now: with the current resources and secret references of its deployment. */
                redeployed?: boolean;
            };
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
            };
            path: {
                deployment_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The differences. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RevisionComparison"];
                };
            };
        };
    };
    redeployRevision: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that you know. If a caller has changed the resource since, the call answers 412 and changes nothing. Status and health changes by workers do not count. */
                "If-Match"?: string;
                /** @description Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write. */
                "Idempotency-Key"?: string;
            };
            path: {
                deployment_id: string;
                revision_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The deployment. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The revision that this call created or changed. The header is absent if there is none. */
                    "X-Revision-Id"?: string;
                    /** @description The entity tag of this answer for this caller: `"<edit>-<hash>"`. `If-Match` compares only the edit number, `If-None-Match` the whole tag. */
                    ETag?: string;
                    /** @description `true` if this is the answer to an earlier call with the same `Idempotency-Key`. Absent otherwise. */
                    "Idempotency-Replayed"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deployment"];
                };
            };
        };
    };
    interruptRevision: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write. */
                "Idempotency-Key"?: string;
            };
            path: {
                deployment_id: string;
                revision_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The revision. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The revision that this call created or changed. The header is absent if there is none. */
                    "X-Revision-Id"?: string;
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    /** @description `true` if this is the answer to an earlier call with the same `Idempotency-Key`. Absent otherwise. */
                    "Idempotency-Replayed"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Revision"];
                };
            };
        };
    };
    readLogs: {
        parameters: {
            query: {
                /** @description `build`: the output of the build. `deploy`: the output of the running agent. */
                type: "build" | "deploy";
                /** @description Only lines written at this time or later. */
                start_time?: string;
                /** @description Only lines written before this time. */
                end_time?: string;
                /** @description `asc` (the default) returns the oldest lines first, `desc` the newest. */
                order?: "asc" | "desc";
                limit?: number;
                /** @description The `next_offset` of the previous page, or the `id` of the last event of a stream. */
                offset?: string;
                /** @description The number of newest lines to return, oldest first. Use it instead of `order`, `limit` and `offset`; `next_offset` continues after these lines. With `follow`, 0 returns only new lines. */
                last?: number;
                /** @description Only lines that contain this text. Case is ignored. */
                query?: string;
                /** @description Only lines of this level or a more severe one. Case is ignored. */
                level?: "debug" | "info" | "warning" | "error" | "critical";
                /** @description Streams the lines as they are written, starting with the oldest line, after `offset`, or with the newest `last` lines. Needs `Accept: text/event-stream`; excludes `order`, `limit` and `end_time`. */
                follow?: boolean;
            };
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
                /** @description For a stream: the `id` of the last received event. It overrides the start position in the query. */
                "Last-Event-ID"?: string;
            };
            path: {
                deployment_id: string;
                revision_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of log lines. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogPage"];
                };
            };
        };
    };
    readDeploymentLogs: {
        parameters: {
            query: {
                /** @description `build`: the output of the build. `deploy`: the output of the running agent. */
                type: "build" | "deploy";
                /** @description Only lines written at this time or later. */
                start_time?: string;
                /** @description Only lines written before this time. */
                end_time?: string;
                /** @description `asc` (the default) returns the oldest lines first, `desc` the newest. */
                order?: "asc" | "desc";
                limit?: number;
                /** @description The `next_offset` of the previous page, or the `id` of the last event of a stream. */
                offset?: string;
                /** @description The number of newest lines to return, oldest first. Use it instead of `order`, `limit` and `offset`; `next_offset` continues after these lines. With `follow`, 0 returns only new lines. */
                last?: number;
                /** @description Only lines that contain this text. Case is ignored. */
                query?: string;
                /** @description Only lines of this level or a more severe one. Case is ignored. */
                level?: "debug" | "info" | "warning" | "error" | "critical";
                /** @description Streams the lines as they are written, starting with the oldest line, after `offset`, or with the newest `last` lines. Needs `Accept: text/event-stream`; excludes `order`, `limit` and `end_time`. */
                follow?: boolean;
            };
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
                /** @description For a stream: the `id` of the last received event. It overrides the start position in the query. */
                "Last-Event-ID"?: string;
            };
            path: {
                deployment_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of log lines. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogPage"];
                };
            };
        };
    };
    listEvents: {
        parameters: {
            query?: {
                limit?: number;
                /** @description Only events after this cursor, which are later. */
                after?: string;
                /** @description Only events before this cursor, which are earlier. */
                before?: string;
                /** @description `asc` (the default) returns the oldest events first, `desc` the newest. */
                order?: "asc" | "desc";
                /** @description Only events of any of these types. `deployment.*` stands for all types of a resource. The types are: revision.status, deployment.created, deployment.updated, deployment.tagged, deployment.provisioned, deployment.deleted, deployment.torn_down, secret.revealed, tag.created, listener.created, listener.updated, listener.deleted, listener.silent, listener.heard, api_key.created, api_key.updated, api_key.revoked, session.created, session.revoked, workspace.created, tracing_project.created, tracing_project.deleted, integration.created, integration.updated, integration.suspended, integration.unsuspended, integration.removed, oauth_provider.created, oauth_provider.updated, oauth_provider.deleted, oauth_token.created, oauth_token.updated, oauth_token.expired, oauth_token.deleted, connection.created, connection.deleted. Comma-separated. */
                types?: string;
                /** @description Only events by actors of any of these kinds: api_key, person, listener, worker, git_provider, command_line, system. `api_key,person,command_line,git_provider` selects everything that was not done by a worker, a listener or the system. Comma-separated. */
                actor_kinds?: string;
                /** @description Only events by the actor with this id: the id of a key or a listener, or the `sub` of a person. */
                actor?: string;
                /** @description Only events at this time or later. */
                since?: string;
                /** @description Only events before this time. */
                until?: string;
            };
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
                /** @description For a stream: the `id` of the last received event. It overrides the start position in the query. */
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of events. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventPage"];
                };
            };
        };
    };
    listDeploymentEvents: {
        parameters: {
            query?: {
                limit?: number;
                /** @description Only events after this cursor, which are later. */
                after?: string;
                /** @description Only events before this cursor, which are earlier. */
                before?: string;
                /** @description `asc` (the default) returns the oldest events first, `desc` the newest. */
                order?: "asc" | "desc";
                /** @description Only events of any of these types. `deployment.*` stands for all types of a resource. The types are: revision.status, deployment.created, deployment.updated, deployment.tagged, deployment.provisioned, deployment.deleted, deployment.torn_down, secret.revealed, tag.created, listener.created, listener.updated, listener.deleted, listener.silent, listener.heard, api_key.created, api_key.updated, api_key.revoked, session.created, session.revoked, workspace.created, tracing_project.created, tracing_project.deleted, integration.created, integration.updated, integration.suspended, integration.unsuspended, integration.removed, oauth_provider.created, oauth_provider.updated, oauth_provider.deleted, oauth_token.created, oauth_token.updated, oauth_token.expired, oauth_token.deleted, connection.created, connection.deleted. Comma-separated. */
                types?: string;
                /** @description Only events by actors of any of these kinds: api_key, person, listener, worker, git_provider, command_line, system. `api_key,person,command_line,git_provider` selects everything that was not done by a worker, a listener or the system. Comma-separated. */
                actor_kinds?: string;
                /** @description Only events by the actor with this id: the id of a key or a listener, or the `sub` of a person. */
                actor?: string;
                /** @description Only events at this time or later. */
                since?: string;
                /** @description Only events before this time. */
                until?: string;
            };
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
                /** @description For a stream: the `id` of the last received event. It overrides the start position in the query. */
                "Last-Event-ID"?: string;
            };
            path: {
                deployment_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of events. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventPage"];
                };
            };
        };
    };
    listRevisionEvents: {
        parameters: {
            query?: {
                limit?: number;
                /** @description Only events after this cursor, which are later. */
                after?: string;
                /** @description Only events before this cursor, which are earlier. */
                before?: string;
                /** @description `asc` (the default) returns the oldest events first, `desc` the newest. */
                order?: "asc" | "desc";
                /** @description Only events of any of these types. `deployment.*` stands for all types of a resource. The types are: revision.status, deployment.created, deployment.updated, deployment.tagged, deployment.provisioned, deployment.deleted, deployment.torn_down, secret.revealed, tag.created, listener.created, listener.updated, listener.deleted, listener.silent, listener.heard, api_key.created, api_key.updated, api_key.revoked, session.created, session.revoked, workspace.created, tracing_project.created, tracing_project.deleted, integration.created, integration.updated, integration.suspended, integration.unsuspended, integration.removed, oauth_provider.created, oauth_provider.updated, oauth_provider.deleted, oauth_token.created, oauth_token.updated, oauth_token.expired, oauth_token.deleted, connection.created, connection.deleted. Comma-separated. */
                types?: string;
                /** @description Only events by actors of any of these kinds: api_key, person, listener, worker, git_provider, command_line, system. `api_key,person,command_line,git_provider` selects everything that was not done by a worker, a listener or the system. Comma-separated. */
                actor_kinds?: string;
                /** @description Only events by the actor with this id: the id of a key or a listener, or the `sub` of a person. */
                actor?: string;
                /** @description Only events at this time or later. */
                since?: string;
                /** @description Only events before this time. */
                until?: string;
            };
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
                /** @description For a stream: the `id` of the last received event. It overrides the start position in the query. */
                "Last-Event-ID"?: string;
            };
            path: {
                deployment_id: string;
                revision_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of events. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventPage"];
                };
            };
        };
    };
    createUploadUrl: {
        parameters: {
            query?: never;
            header?: {
                /** @description The header has no effect: each call creates something new. */
                "Idempotency-Key"?: string;
            };
            path: {
                deployment_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The URL for the upload. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadUrl"];
                };
            };
        };
    };
    createUploadUrlUnversioned: {
        parameters: {
            query?: never;
            header?: {
                /** @description The header has no effect: each call creates something new. */
                "Idempotency-Key"?: string;
            };
            path: {
                deployment_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The URL for the upload. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadUrl"];
                };
            };
        };
    };
    createPushToken: {
        parameters: {
            query?: never;
            header?: {
                /** @description The header has no effect: each call creates something new. */
                "Idempotency-Key"?: string;
            };
            path: {
                deployment_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The token and the repository. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PushToken"];
                };
            };
        };
    };
    listListeners: {
        parameters: {
            query?: {
                limit?: number;
                /** @description The `offset` of the previous page. */
                offset?: number;
            };
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of listeners. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListenerList"];
                };
            };
        };
    };
    createListener: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ListenerCreateInput"];
            };
        };
        responses: {
            /** @description The listener. */
            201: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller: `"<edit>-<hash>"`. `If-Match` compares only the edit number, `If-None-Match` the whole tag. */
                    ETag?: string;
                    /** @description `true` if this is the answer to an earlier call with the same `Idempotency-Key`. Absent otherwise. */
                    "Idempotency-Replayed"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Listener"];
                };
            };
        };
    };
    getListener: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
            };
            path: {
                listener_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The listener. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller: `"<edit>-<hash>"`. `If-Match` compares only the edit number, `If-None-Match` the whole tag. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Listener"];
                };
            };
        };
    };
    deleteListener: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that you know. If a caller has changed the resource since, the call answers 412 and changes nothing. Status and health changes by workers do not count. */
                "If-Match"?: string;
                /** @description Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write. */
                "Idempotency-Key"?: string;
            };
            path: {
                listener_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The listener is deleted. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    updateListener: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that you know. If a caller has changed the resource since, the call answers 412 and changes nothing. Status and health changes by workers do not count. */
                "If-Match"?: string;
                /** @description Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write. */
                "Idempotency-Key"?: string;
            };
            path: {
                listener_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ListenerUpdateInput"];
            };
        };
        responses: {
            /** @description The updated listener. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller: `"<edit>-<hash>"`. `If-Match` compares only the edit number, `If-None-Match` the whole tag. */
                    ETag?: string;
                    /** @description `true` if this is the answer to an earlier call with the same `Idempotency-Key`. Absent otherwise. */
                    "Idempotency-Replayed"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Listener"];
                };
            };
        };
    };
    listIntegrations: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All integrations of the workspace. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Integration"][];
                };
            };
        };
    };
    startInstallation: {
        parameters: {
            query?: never;
            header?: {
                /** @description The header has no effect: each call creates something new. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The installation was started. */
            201: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Installation"];
                };
            };
        };
    };
    listRepositories: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
            };
            path: {
                integration_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All repositories of the integration. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Repository"][];
                };
            };
        };
    };
    listIntegrationsOfForge: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All integrations of the workspace. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Integration"][];
                };
            };
        };
    };
    listRepositoriesOfForge: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
            };
            path: {
                integration_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All repositories of the integration. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Repository"][];
                };
            };
        };
    };
    removeIntegration: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write. */
                "Idempotency-Key"?: string;
            };
            path: {
                integration_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The integration was removed. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listOAuthProviders: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All OAuth providers of the organization. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthProvider"][];
                };
            };
        };
    };
    createOAuthProvider: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OAuthProviderCreateInput"];
            };
        };
        responses: {
            /** @description The provider. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller: `"<edit>-<hash>"`. `If-Match` compares only the edit number, `If-None-Match` the whole tag. */
                    ETag?: string;
                    /** @description `true` if this is the answer to an earlier call with the same `Idempotency-Key`. Absent otherwise. */
                    "Idempotency-Replayed"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthProvider"];
                };
            };
        };
    };
    getOAuthProvider: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
            };
            path: {
                /** @description The provider_id or the id of the provider. */
                provider_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The provider. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller: `"<edit>-<hash>"`. `If-Match` compares only the edit number, `If-None-Match` the whole tag. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthProvider"];
                };
            };
        };
    };
    deleteOAuthProvider: {
        parameters: {
            query?: {
                /** @description Also deletes and revokes the tokens of all owners. */
                force?: boolean;
            };
            header?: {
                /** @description The `ETag` that you know. If a caller has changed the resource since, the call answers 412 and changes nothing. Status and health changes by workers do not count. */
                "If-Match"?: string;
                /** @description Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The provider_id or the id of the provider. */
                provider_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The deleted provider. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description `true` if this is the answer to an earlier call with the same `Idempotency-Key`. Absent otherwise. */
                    "Idempotency-Replayed"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthProvider"];
                };
            };
        };
    };
    updateOAuthProvider: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that you know. If a caller has changed the resource since, the call answers 412 and changes nothing. Status and health changes by workers do not count. */
                "If-Match"?: string;
                /** @description Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The provider_id or the id of the provider. */
                provider_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OAuthProviderUpdateInput"];
            };
        };
        responses: {
            /** @description The updated provider. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller: `"<edit>-<hash>"`. `If-Match` compares only the edit number, `If-None-Match` the whole tag. */
                    ETag?: string;
                    /** @description `true` if this is the answer to an earlier call with the same `Idempotency-Key`. Absent otherwise. */
                    "Idempotency-Replayed"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthProvider"];
                };
            };
        };
    };
    discoverMcpProvider: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["McpDiscoveryInput"];
            };
        };
        responses: {
            /** @description The provider. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller: `"<edit>-<hash>"`. `If-Match` compares only the edit number, `If-None-Match` the whole tag. */
                    ETag?: string;
                    /** @description `true` if this is the answer to an earlier call with the same `Idempotency-Key`. Absent otherwise. */
                    "Idempotency-Replayed"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthProvider"];
                };
            };
        };
    };
    authenticate: {
        parameters: {
            query?: never;
            header?: {
                /** @description The header has no effect: each call creates something new. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AuthenticateInput"];
            };
        };
        responses: {
            /** @description The state of the authorization. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Authorization"];
                };
            };
        };
    };
    waitForAuthorization: {
        parameters: {
            query?: {
                /** @description The maximum wait in seconds. */
                timeout?: number;
            };
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
            };
            path: {
                auth_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The state of the authorization. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Authorization"];
                };
            };
        };
    };
    listOAuthTokens: {
        parameters: {
            query?: {
                /** @description Lists only tokens of this OAuth provider, by its `provider_id` or its id. */
                provider_id?: string;
            };
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All your tokens. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthToken"][];
                };
            };
        };
    };
    deleteOAuthTokensOfUser: {
        parameters: {
            query: {
                /** @description The owner of the tokens: the `sub` of a JWT, the id of a key, or a `user_id` of authenticate. */
                user_id: string;
            };
            header?: {
                /** @description Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The number of deleted tokens. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description `true` if this is the answer to an earlier call with the same `Idempotency-Key`. Absent otherwise. */
                    "Idempotency-Replayed"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedOAuthTokens"];
                };
            };
        };
    };
    updateOAuthTokenMetadata: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write. */
                "Idempotency-Key"?: string;
            };
            path: {
                token_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OAuthTokenMetadataInput"];
            };
        };
        responses: {
            /** @description The updated token. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description `true` if this is the answer to an earlier call with the same `Idempotency-Key`. Absent otherwise. */
                    "Idempotency-Replayed"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OAuthToken"];
                };
            };
        };
    };
    deleteOAuthToken: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write. */
                "Idempotency-Key"?: string;
            };
            path: {
                token_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The token is deleted. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listConnections: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
            };
            path: {
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All connections of the agent to your tokens. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConnectionList"];
                };
            };
        };
    };
    createConnection: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write. */
                "Idempotency-Key"?: string;
            };
            path: {
                agent_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateConnectionInput"];
            };
        };
        responses: {
            /** @description The connection. */
            201: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description `true` if this is the answer to an earlier call with the same `Idempotency-Key`. Absent otherwise. */
                    "Idempotency-Replayed"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Connection"];
                };
            };
        };
    };
    deleteConnection: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write. */
                "Idempotency-Key"?: string;
            };
            path: {
                agent_id: string;
                connection_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The connection is deleted. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    issueAccessToken: {
        parameters: {
            query?: never;
            header?: {
                /** @description The header has no effect: each call creates something new. */
                "Idempotency-Key"?: string;
            };
            path: {
                agent_id: string;
                /** @description The provider_id or the id of the provider. */
                provider_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["IssueAccessTokenInput"];
            };
        };
        responses: {
            /** @description The access token. Do not use it after `expires_at`. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccessToken"];
                };
            };
        };
    };
    listSessions: {
        parameters: {
            query?: {
                limit?: number;
                /** @description The `offset` of the previous page. */
                offset?: number;
            };
            header?: {
                /** @description The `ETag` that you know. The answer is 304 without a body if it is still current. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of sessions. */
            200: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description The entity tag of this answer for this caller, for `If-None-Match`. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionList"];
                };
            };
        };
    };
    revokeSession: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description `current` names the session of the call. */
                session_id: string | "current";
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The session has ended. Calls with it are refused. */
            204: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    createWorkspace: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the call safe to repeat. Within 24 hours the same call by the same caller with the same key gets the first answer and is not executed twice. Use a random UUID for each write. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WorkspaceCreateInput"];
            };
        };
        responses: {
            /** @description The workspace. */
            201: {
                headers: {
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    /** @description `true` if this is the answer to an earlier call with the same `Idempotency-Key`. Absent otherwise. */
                    "Idempotency-Replayed"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"];
                };
            };
        };
    };
}

/** The `code` of an error. */
export type ErrorCode =
  | 'MALFORMED_REQUEST'
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'TENANT_REQUIRED'
  | 'PLAN_REQUIRED'
  | 'NOT_REDEPLOYABLE'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'REQUEST_TIMEOUT'
  | 'CONFLICT'
  | 'ALREADY_EXISTS'
  | 'AUTHORIZATION_FAILED'
  | 'CONNECTION_REQUIRED'
  | 'TOKEN_EXPIRED'
  | 'CLAIM_LOST'
  | 'IDEMPOTENCY_IN_FLIGHT'
  | 'ALREADY_SHOWN'
  | 'GONE'
  | 'PRECONDITION_FAILED'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'EXPECTATION_FAILED'
  | 'VALIDATION_FAILED'
  | 'RATE_LIMITED'
  | 'HEADERS_TOO_LARGE'
  | 'GITPROVIDER_UNAVAILABLE'
  | 'OAUTH_PROVIDER_UNAVAILABLE'
  | 'STREAM_OVERFLOW'
  | 'UNAVAILABLE'
  | 'OUTCOME_UNKNOWN'
  | 'INTERNAL'
